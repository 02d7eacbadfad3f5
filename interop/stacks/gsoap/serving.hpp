// The service's side: one mechanism on one port, a thread for each connection.
#pragma once

#include <string>

#include "payloads.hpp"
#include "security.hpp"

struct Serving {
    Security security;
    Payloads payloads;
    // HOST:PORT of the sensor's controller.
    std::string controller;
    // The PEM file with key and certificate of TLS; empty, where there is none.
    std::string tls;

    // Serves until the process ends. Throws std::runtime_error when it cannot begin to.
    void serve(int port);
};
