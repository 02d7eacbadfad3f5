#include "operation.hpp"

#include <memory>
#include <stdexcept>

namespace {

constexpr int a = 19, b = 93;
// What the sensor of a controller measures that was told nothing else.
constexpr const char *degrees = "21.50";

Operation echo(std::size_t characters) {
    struct State {
        _echo__Echo request;
        _echo__EchoResponse response;
    };
    auto state = std::make_shared<State>();
    state->request.text = text_of_length(characters);
    return {
        [state](soap *context, const char *address) {
            return soap_call___echo__Echo(context, address, nullptr, &state->request, state->response);
        },
        [state] { return state->response.text == state->request.text; },
    };
}

Operation strings(std::size_t elements) {
    struct State {
        strings__StringList request;
        strings__EchoStringArrayResponse response;
    };
    auto state = std::make_shared<State>();
    for (std::size_t number = 0; number < elements; number++) {
        state->request.item.push_back("string " + std::to_string(number));
    }
    return {
        [state](soap *context, const char *address) {
            return soap_call_strings__EchoStringArray(context, address, nullptr, &state->request, state->response);
        },
        [state] { return state->response.result && state->response.result->item == state->request.item; },
    };
}

Operation books(std::size_t count, const Payloads &payloads) {
    if (count > payloads.books.size()) {
        throw std::runtime_error("books: there are " + std::to_string(payloads.books.size()));
    }
    struct State {
        _books__getBooks request;
        _books__getBooksResponse response;
    };
    auto state = std::make_shared<State>();
    state->request.n = static_cast<int>(count);
    return {
        [state](soap *context, const char *address) {
            return soap_call___books__getBooks(context, address, nullptr, &state->request, state->response);
        },
        [state, count, &payloads] { return same(payloads.books, count, state->response.book); },
    };
}

// All records, or with the query for it the one of a study.
Operation employees(const std::vector<employees__Employee *> &right, const std::string &query) {
    struct State {
        _employees__EmployeeDetails request;
        _employees__EmployeeDetailsResponse response;
    };
    auto state = std::make_shared<State>();
    return {
        [state, query](soap *context, const char *address) {
            std::string asked = address + query;
            return soap_call___employees__EmployeeDetails(context, asked.c_str(), nullptr, &state->request, state->response);
        },
        [state, &right] { return same(right, state->response.employee); },
    };
}

Operation sum() {
    struct State {
        _sum__Sum request;
        _sum__SumResponse response;
    };
    auto state = std::make_shared<State>();
    state->request.a = a;
    state->request.b = b;
    return {
        [state](soap *context, const char *address) {
            return soap_call___sum__Sum(context, address, nullptr, &state->request, state->response);
        },
        [state] { return state->response.sum == a + b; },
    };
}

Operation temperature() {
    struct State {
        _temperature__getTemperature request;
        _temperature__getTemperatureResponse response;
    };
    auto state = std::make_shared<State>();
    return {
        [state](soap *context, const char *address) {
            return soap_call___temperature__getTemperature(context, address, nullptr, &state->request, state->response);
        },
        [state] { return state->response.temperature == degrees; },
    };
}

} // namespace

Operation Operation::named(const std::string &name, std::size_t count, const Payloads &payloads) {
    if (name == "echo") {
        return echo(count);
    }
    if (name == "strings") {
        return strings(count);
    }
    if (name == "books") {
        return books(count, payloads);
    }
    if (name == "employees") {
        return employees(payloads.employees, "");
    }
    if (name == "employee") {
        return employees(payloads.employee, "/?records=one");
    }
    if (name == "sum") {
        return sum();
    }
    if (name == "temperature") {
        return temperature();
    }
    throw std::runtime_error("operation: expected echo, strings, books, employees, employee, sum or temperature, found " + name);
}
