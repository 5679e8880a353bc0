// The kernel tests' interpreter, compiled into this binary too: the reference of every generated kernel.
#include "kernel/interpreter.cpp"  // NOLINT(bugprone-suspicious-include)
