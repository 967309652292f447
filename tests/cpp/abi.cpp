// A program that was compiled against the header of another ABI is stopped when it opens something.

#include <rheo.h>

#undef RHEO_ABI_VERSION
#define RHEO_ABI_VERSION 4711

#include "check.hpp"

#include <string_view>

int main() {
    CHECK(rheo::abi_version() != RHEO_ABI_VERSION);
    try {
        rheo::open("memory:");
    } catch (const std::logic_error &error) {
        CHECK(std::string_view(error.what()).find("4711") != std::string_view::npos);
        return 0;
    }
    CHECK(!"opened with a library of another ABI");
}
