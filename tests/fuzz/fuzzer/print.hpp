/// A program as C++ against the bridge: the body of a test that can be pasted beside the right layer's tests.
#pragma once

#include <string>

#include "fuzz/fuzzer/program.hpp"

namespace strata::fuzz {

/// `comment` stands above the test, line by line.
std::string to_cpp(const Program& program, const std::string& comment);
/// One action, for people: "v3 = add(v1, in0)".
std::string to_string(const Action& action, ValueId made);

}  // namespace strata::fuzz
