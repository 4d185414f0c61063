#include "cub/emulated_cub.h"
