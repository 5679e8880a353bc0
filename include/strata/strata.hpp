/// Everything a user of strata needs.
#pragma once

#include "strata/device.hpp"
#include "strata/dtype.hpp"
#include "strata/error.hpp"
#include "strata/functional.hpp"
#include "strata/future.hpp"
#include "strata/linalg.hpp"
#include "strata/loss.hpp"
#include "strata/npy.hpp"
#include "strata/shape.hpp"
#include "strata/tensor.hpp"
#include "strata/tensor_data.hpp"
#include "strata/trace.hpp"
