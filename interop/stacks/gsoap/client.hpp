// The client's side: calls a service, checks each answer and takes the time.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "operation.hpp"
#include "security.hpp"

using Microseconds = std::chrono::duration<double, std::micro>;

// One client: a connection that is kept, and an operation.
class Client {
  public:
    Client(const Security &security, const std::string &address, Operation operation);

    // One call: from when its request is secured until its answer is opened. Throws std::runtime_error when it failed or the answer
    // is wrong.
    Microseconds call();

    // Octets of the last request and its answer, without the headers of HTTP.
    std::size_t weight() const;

  private:
    struct ContextDeleter {
        void operator()(soap *context) const;
    };

    [[noreturn]] void fail() const;

    const Security &security_;
    std::string address_;
    Operation operation_;
    std::unique_ptr<soap, ContextDeleter> context_;
};

// So many clients at once, each so many calls one after another: the time of each.
std::vector<Microseconds> together(const std::vector<Client *> &clients, int requests);

// Calls that begin at a steady rate, each by the next client that is free; `clients` is how many can wait at once. The time of each
// counts from when it was due.
std::vector<Microseconds> paced(const std::vector<Client *> &clients, double per_second, double seconds);
