/// A program as C++ against the bridge: the body of a test that can be pasted beside the right layer's tests.
#pragma once

#include <string>

#include "fuzz/fuzzer/program.hpp"

namespace strata::fuzz {

/// `comment` stands above the test, line by line.
std::string to_cpp(const Program& program, const std::string& comment);
/// The inputs' types and all actions, a line each.
std::string listing(const Program& program);

}  // namespace strata::fuzz
