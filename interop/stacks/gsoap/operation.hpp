// One operation of a sample service with its arguments: how a client calls it, and which answer is right.
#pragma once

#include <functional>
#include <string>

#include "payloads.hpp"

// Calls through a context at an address; a status of gSOAP. When that is SOAP_OK, `right` tells whether the answer was.
struct Operation {
    using Ask = std::function<int(soap *, const char *)>;

    Ask ask;
    std::function<bool()> right;

    // `echo` of so many characters, `strings` of so many elements, so many `books`, `sum`, `employees`, `employee`, `temperature`. An
    // operation holds its last answer: each client needs one of its own. Throws std::runtime_error for any other name.
    static Operation named(const std::string &name, std::size_t count, const Payloads &payloads);
};
