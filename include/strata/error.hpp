/// Errors. Three kinds: the caller's (`UserError`), the machine's (`RuntimeError`), ours (`InternalError`).
/// Messages are built only on failure and name the op, shapes, dtypes, device and what to do.
#pragma once

#include <stdexcept>
#include <string>

#include "strata/config.hpp"

namespace strata::inline v0 {

/// Root of every exception strata throws.
class STRATA_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~Error() override;
};

/// The caller asked for something that cannot be done; nothing was queued, every tensor is unchanged.
class STRATA_API UserError : public Error {
 public:
  using Error::Error;
  ~UserError() override;
};
/// Shapes, ranks or axes do not fit the operation.
class STRATA_API ShapeError : public UserError {
 public:
  using UserError::UserError;
  ~ShapeError() override;
};
/// Element types do not fit the operation.
class STRATA_API DTypeError : public UserError {
 public:
  using UserError::UserError;
  ~DTypeError() override;
};
/// An index, which is data, lies outside its axis.
class STRATA_API IndexError : public UserError {
 public:
  using UserError::UserError;
  ~IndexError() override;
};
/// A matrix does not have the property that an operation needs: it is singular, or not positive definite.
class STRATA_API MatrixError : public UserError {
 public:
  using UserError::UserError;
  ~MatrixError() override;
};
/// Operands live on different devices, or a device does not exist on this machine.
class STRATA_API DeviceError : public UserError {
 public:
  using UserError::UserError;
  ~DeviceError() override;
};
/// An attribute is out of its range (a negative step, an unknown name, a malformed file ...).
class STRATA_API ArgumentError : public UserError {
 public:
  using UserError::UserError;
  ~ArgumentError() override;
};

/// The machine failed: memory, driver, compiler, files.
class STRATA_API RuntimeError : public Error {
 public:
  using Error::Error;
  ~RuntimeError() override;
};
class STRATA_API OutOfMemoryError : public RuntimeError {
 public:
  using RuntimeError::RuntimeError;
  ~OutOfMemoryError() override;
};
/// A kernel did not compile.
class STRATA_API CompileError : public RuntimeError {
 public:
  using RuntimeError::RuntimeError;
  ~CompileError() override;
};
/// A kernel could not be launched or failed while it ran.
class STRATA_API LaunchError : public RuntimeError {
 public:
  using RuntimeError::RuntimeError;
  ~LaunchError() override;
};
class STRATA_API IoError : public RuntimeError {
 public:
  using RuntimeError::RuntimeError;
  ~IoError() override;
};

/// A fault of strata itself; the message carries file and line.
class STRATA_API InternalError : public Error {
 public:
  using Error::Error;
  ~InternalError() override;
};

}  // namespace strata::inline v0
