#include "strata/error.hpp"

#include "base/check.hpp"

namespace strata::inline v0 {
// Out-of-line destructors anchor each type's vtable and typeinfo in the library.
Error::~Error() = default;
UserError::~UserError() = default;
ShapeError::~ShapeError() = default;
DTypeError::~DTypeError() = default;
IndexError::~IndexError() = default;
MatrixError::~MatrixError() = default;
DeviceError::~DeviceError() = default;
ArgumentError::~ArgumentError() = default;
RuntimeError::~RuntimeError() = default;
OutOfMemoryError::~OutOfMemoryError() = default;
CompileError::~CompileError() = default;
LaunchError::~LaunchError() = default;
IoError::~IoError() = default;
InternalError::~InternalError() = default;
}  // namespace strata::inline v0

namespace strata::base {
void fail_check(const char* condition, const char* file, int line) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": internal check failed: " +
                      condition + ". This is a fault in strata; please report it.");
}
}  // namespace strata::base
