// The kernel tests' interpreter, compiled into this binary too: it runs the forms a kernel takes for a GPU.
#include "kernel/interpreter.cpp"  // NOLINT(bugprone-suspicious-include)
