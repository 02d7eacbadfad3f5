#include "serving.hpp"

#include <iostream>
#include <stdexcept>
#include <thread>

namespace {

constexpr int backlog = 1024;

[[noreturn]] void fail(soap *context, const std::string &what) {
    char reason[1024];
    soap_sprint_fault(context, reason, sizeof reason);
    throw std::runtime_error(what + ": " + reason);
}

void serve_connection(soap *connection, const Serving &serving) {
    if (serving.security.prepare(connection) == SOAP_OK && (serving.tls.empty() || soap_ssl_accept(connection) == SOAP_OK)) {
        soap_serve(connection);
    }
    if (connection->error && connection->error != SOAP_EOF) {
        soap_stream_fault(connection, std::cerr);
    }
    soap_destroy(connection);
    soap_end(connection);
    soap_free(connection);
}

} // namespace

void Serving::serve(int port) {
    soap *listener = security.context();
    listener->user = this;
    listener->bind_flags = SO_REUSEADDR;
    if (!tls.empty() && soap_ssl_server_context(listener, SOAP_SSL_DEFAULT, tls.c_str(), nullptr, nullptr, nullptr, nullptr,
                                                nullptr, nullptr)) {
        fail(listener, "TLS");
    }
    if (!soap_valid_socket(soap_bind(listener, "127.0.0.1", port, backlog))) {
        fail(listener, "port " + std::to_string(port));
    }
    while (true) {
        if (!soap_valid_socket(soap_accept(listener))) {
            fail(listener, "accept");
        }
        soap *connection = soap_copy(listener);
        if (!connection) {
            throw std::runtime_error("out of memory");
        }
        std::thread(serve_connection, connection, std::cref(*this)).detach();
    }
}
