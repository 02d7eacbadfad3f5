#include "memory.hpp"

#include <sstream>
#include <stdexcept>

namespace {

using Clock = std::chrono::steady_clock;

struct ContextDeleter {
    void operator()(soap *context) const {
        soap_destroy(context);
        soap_end(context);
        soap_free(context);
    }
};
using Context = std::unique_ptr<soap, ContextDeleter>;

void require(soap *context, int status) {
    if (status) {
        char reason[2048];
        soap_sprint_fault(context, reason, sizeof reason);
        throw std::runtime_error(reason);
    }
}

template <typename Answer> int envelope(soap *context, const Answer &answer, const char *tag) {
    return soap_envelope_begin_out(context) || soap_putheader(context) || soap_body_begin_out(context) ||
           answer.soap_put(context, tag, "") || soap_body_end_out(context) || soap_envelope_end_out(context);
}

// Twice, where something has to be known before the first octet is written: lengths and digests.
template <typename Answer> int write(soap *context, const Answer &answer, const char *tag) {
    soap_serializeheader(context);
    answer.soap_serialize(context);
    return soap_begin_count(context) || ((context->mode & SOAP_IO_LENGTH) && envelope(context, answer, tag)) ||
           soap_end_count(context) || soap_begin_send(context) || envelope(context, answer, tag) || soap_end_send(context);
}

template <typename Answer> int read(soap *context, Answer &answer, const char *tag) {
    return soap_begin_recv(context) || soap_envelope_begin_in(context) || soap_recv_header(context) ||
           soap_body_begin_in(context) || !answer.soap_get(context, tag, nullptr) || soap_body_end_in(context) ||
           soap_envelope_end_in(context) || soap_end_recv(context);
}

template <typename Answer, typename Right>
std::vector<Microseconds> repeat(bool opening, int repetitions, const Security &security, const Answer &answer, const char *tag,
                                 Right right) {
    Context sender(security.context()), receiver(security.context());
    std::vector<Microseconds> all;
    for (int i = 0; i < repetitions; i++) {
        std::ostringstream written;
        sender->os = &written;
        auto before = Clock::now();
        soap_begin(sender.get());
        require(sender.get(), security.secure(sender.get(), true) || write(sender.get(), answer, tag));
        Microseconds securing = Clock::now() - before;

        std::istringstream message(written.str());
        receiver->is = &message;
        Answer found;
        before = Clock::now();
        soap_begin(receiver.get());
        found.soap_default(receiver.get());
        require(receiver.get(),
                security.prepare(receiver.get()) || read(receiver.get(), found, tag) || security.verify(receiver.get(), true));
        Microseconds opened = Clock::now() - before;
        if (!right(found)) {
            throw std::runtime_error("what was opened is not what was secured");
        }
        all.push_back(opening ? opened : securing);
        for (soap *context : {sender.get(), receiver.get()}) {
            soap_destroy(context);
            soap_end(context);
        }
    }
    return all;
}

} // namespace

std::vector<Microseconds> in_memory(const std::string &verb, int repetitions, const Security &security,
                                    const std::string &payload, std::size_t items, const Payloads &payloads) {
    bool opening = verb == "open";
    if (!opening && verb != "secure") {
        throw std::runtime_error("verb: expected secure or open, found " + verb);
    }
    if (payload == "echo") {
        _echo__EchoResponse answer;
        answer.text = text_of_length(items);
        return repeat(opening, repetitions, security, answer, "echo:EchoResponse",
                      [&](const auto &found) { return found.text == answer.text; });
    }
    if (payload == "books" && items <= payloads.books.size()) {
        _books__getBooksResponse answer;
        answer.book.assign(payloads.books.begin(), payloads.books.begin() + static_cast<std::ptrdiff_t>(items));
        return repeat(opening, repetitions, security, answer, "books:getBooksResponse",
                      [&](const auto &found) { return same(payloads.books, items, found.book); });
    }
    throw std::runtime_error("payload: expected echo, or as many books as there are, found " + payload);
}
