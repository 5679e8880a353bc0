/// Kernels as text, for people and for tests.
#pragma once

#include <string>

#include "kernel/ir.hpp"

namespace strata::kernel {

/// One instruction a line, two spaces of indent a region; the form is stable. Values print as `%id`, memories
/// as `@name`, constants in place (`3`, `1.5`, `true`; splat ones too), types where they are not implied:
///
///     kernel axpy(@x: f32 read, @y: f32 write, a: f32) units 256x1x1 {
///       %3 = cube_x
///       ...
///       if %9 {
///         %10 = load f32 @x[%8]
///         store @y[%8], %11
///       }
///     }
std::string print(const Kernel& kernel);

}  // namespace strata::kernel
