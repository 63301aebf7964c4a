#pragma once
#include "tests/support/interpreter.h"
