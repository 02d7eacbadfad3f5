#include "client.hpp"

#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

// What a context's `user` is: gSOAP tells the length of what it posts to its `fpost` callback.
struct Weights {
    int (*post)(soap *, const char *, const char *, int, const char *, const char *, ULONG64);
    ULONG64 sent = 0;
};

int noting_length(soap *context, const char *endpoint, const char *host, int port, const char *path, const char *action,
                  ULONG64 count) {
    auto *weights = static_cast<Weights *>(context->user);
    weights->sent = count;
    return weights->post(context, endpoint, host, port, path, action, count);
}

// Runs `task` with each client in a thread of its own; a failure is thrown when all have ended.
template <typename Task> void in_threads(const std::vector<Client *> &clients, Task task) {
    std::mutex lock;
    std::exception_ptr failure;
    std::vector<std::thread> threads;
    for (Client *client : clients) {
        threads.emplace_back([&task, client, &lock, &failure] {
            try {
                task(*client);
            } catch (...) {
                std::lock_guard<std::mutex> locked(lock);
                failure = std::current_exception();
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
}

} // namespace

Client::Client(const Security &security, const std::string &address, Operation operation)
    : security_(security), address_(address), operation_(std::move(operation)), context_(security.context()) {
    auto *weights = new Weights{context_->fpost};
    context_->user = weights;
    context_->fpost = noting_length;
    if (address.rfind("https:", 0) == 0 &&
        soap_ssl_client_context(context_.get(), SOAP_SSL_DEFAULT, nullptr, nullptr, security.anchors().c_str(), nullptr, nullptr)) {
        fail();
    }
}

void Client::ContextDeleter::operator()(soap *context) const {
    delete static_cast<Weights *>(context->user);
    soap_destroy(context);
    soap_end(context);
    soap_free(context);
}

Microseconds Client::call() {
    soap *context = context_.get();
    auto before = Clock::now();
    if (security_.secure(context, true) || operation_.ask(context, address_.c_str()) || security_.verify(context, false)) {
        fail();
    }
    Microseconds taken = Clock::now() - before;
    if (!operation_.right()) {
        throw std::runtime_error("the answer is another one than expected");
    }
    soap_destroy(context);
    soap_end(context);
    return taken;
}

std::size_t Client::weight() const {
    return static_cast<const Weights *>(context_->user)->sent + context_->length;
}

void Client::fail() const {
    char reason[2048];
    soap_sprint_fault(context_.get(), reason, sizeof reason);
    throw std::runtime_error(reason);
}

std::vector<Microseconds> together(const std::vector<Client *> &clients, int requests) {
    std::mutex lock;
    std::vector<Microseconds> all;
    in_threads(clients, [&](Client &client) {
        std::vector<Microseconds> own;
        for (int i = 0; i < requests; i++) {
            own.push_back(client.call());
        }
        std::lock_guard<std::mutex> locked(lock);
        all.insert(all.end(), own.begin(), own.end());
    });
    return all;
}

std::vector<Microseconds> paced(const std::vector<Client *> &clients, double per_second, double seconds) {
    auto count = static_cast<std::size_t>(std::ceil(per_second * seconds));
    std::vector<Microseconds> all(count);
    std::atomic<std::size_t> next{0};
    auto start = Clock::now();
    in_threads(clients, [&](Client &client) {
        for (std::size_t i = next++; i < count; i = next++) {
            std::chrono::duration<double> after(static_cast<double>(i) / per_second);
            auto due = start + std::chrono::duration_cast<Clock::duration>(after);
            std::this_thread::sleep_until(due);
            Microseconds late = Clock::now() - due;
            all[i] = late + client.call();
        }
    });
    return all;
}
