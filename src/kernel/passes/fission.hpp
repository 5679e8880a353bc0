/// Units to loops: how a cube of many units runs on one CPU thread.
///
/// A kernel whose cube has N units becomes one whose cube has a single unit: code between barriers is wrapped
/// in loops over the units, so each barrier is simply the end of a loop. This is the loop fission of MCUDA
/// (Stratton, Stone and Hwu, LCPC 2008) with the parallel regions of pocl (Jaaskelainen et al., IJPP 2015):
///
/// - A run of instructions without a barrier inside, however deep, is a region: `for z { for y { for x { ...
/// } } }`.
/// - An if_, for_ or while_ with a barrier inside stays outside the unit loops and its bodies are split in
/// turn. Its
///   condition or bounds must be uniform (uniformity.hpp); otherwise CompileError.
/// - Values of one region used in another: uniform pure ones move in front of the unit loop; other uniform
/// ones pass
///   through one slot; ones that are a few pure operations on the unit's position are computed again; the
///   rest pass through an array with one slot a unit.
/// - Local arrays get one slice a unit, unless one region outside every split loop is all that uses them: a
/// unit is
///   through with it before the next one starts.
/// - return_ sets a flag of the unit, and what follows asks for it.
/// - unit_x ... become the loop counters. A plane is one unit on a CPU: plane_lane is 0, plane shuffles and
///   reductions give their operand.
///
/// The kernel must be free of data races between the units of a cube. The order of units inside a region is x
/// fastest.
#pragma once

#include "kernel/ir.hpp"

namespace strata::kernel {

Kernel fission(Kernel kernel);

}  // namespace strata::kernel
