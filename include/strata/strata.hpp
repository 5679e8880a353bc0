/// Everything a user of strata needs.
#pragma once

#include "strata/activation.hpp"
#include "strata/arrange.hpp"
#include "strata/device.hpp"
#include "strata/dtype.hpp"
#include "strata/error.hpp"
#include "strata/functional.hpp"
#include "strata/future.hpp"
#include "strata/grid.hpp"
#include "strata/linalg.hpp"
#include "strata/npy.hpp"
#include "strata/products.hpp"
#include "strata/shape.hpp"
#include "strata/statistics.hpp"
#include "strata/tensor.hpp"
#include "strata/tensor_data.hpp"
#include "strata/trace.hpp"
