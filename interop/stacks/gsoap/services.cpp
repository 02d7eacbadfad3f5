// The sample services: what gSOAP calls when a request has come in. A service opens the request as the mechanism demands, and has
// its answer secured.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "sensor.hpp"
#include "serving.hpp"

namespace {

const Serving &serving(soap *context) { return *static_cast<const Serving *>(context->user); }

// Demands the mechanism of the request, then lets `answer` fill in what goes back.
template <typename Answer> int secured(soap *context, Answer answer) {
    const Security &security = serving(context).security;
    if (security.verify(context, true) || answer()) {
        soap_wsse_delete_Security(context);
        return context->error;
    }
    return security.secure(context, false);
}

} // namespace

int __books__getBooks(soap *context, _books__getBooks *request, _books__getBooksResponse &response) {
    return secured(context, [&] {
        const auto &books = serving(context).payloads.books;
        if (request->n < 0 || static_cast<std::size_t>(request->n) > books.size()) {
            return soap_sender_fault(context, "n is not a number of books", nullptr);
        }
        response.book.assign(books.begin(), books.begin() + request->n);
        return SOAP_OK;
    });
}

int __echo__Echo(soap *context, _echo__Echo *request, _echo__EchoResponse &response) {
    return secured(context, [&] {
        response.text = std::move(request->text);
        return SOAP_OK;
    });
}

int __employees__EmployeeDetails(soap *context, _employees__EmployeeDetails *, _employees__EmployeeDetailsResponse &response) {
    return secured(context, [&] {
        const Payloads &payloads = serving(context).payloads;
        // As our own service is asked for the one record of a study.
        bool one = std::string_view(context->path).find("?records=one") != std::string_view::npos;
        response.employee = one ? payloads.employee : payloads.employees;
        return SOAP_OK;
    });
}

int strings__EchoStringArray(soap *context, strings__StringList *strings, strings__EchoStringArrayResponse &response) {
    return secured(context, [&] {
        response.result = strings;
        return SOAP_OK;
    });
}

int __sum__Sum(soap *context, _sum__Sum *request, _sum__SumResponse &response) {
    return secured(context, [&] {
        response.sum = static_cast<LONG64>(request->a) + request->b;
        return SOAP_OK;
    });
}

int __temperature__getTemperature(soap *context, _temperature__getTemperature *, _temperature__getTemperatureResponse &response) {
    return secured(context, [&] {
        try {
            int hundredths = hundredths_of_sensor(serving(context).controller);
            auto [whole, part] = std::div(std::abs(hundredths), 100);
            char degrees[16];
            snprintf(degrees, sizeof degrees, "%s%d.%02d", hundredths < 0 ? "-" : "", whole, part);
            response.temperature = degrees;
            return SOAP_OK;
        } catch (const std::runtime_error &failure) {
            return soap_receiver_fault(context, "the temperature cannot be read", failure.what());
        }
    });
}
