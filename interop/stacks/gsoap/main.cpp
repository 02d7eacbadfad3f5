// gSOAP with its wsse plugin as a program for the lab: services and clients of the sample contracts.
//
//   peer serve PORT MECHANISM SUITE KEYS PAYLOADS CONTROLLER [TLS.pem]
//   peer call     reads jobs from standard input, words separated by tabs, and answers each with one line of JSON:
//     together CLIENTS REQUESTS  CALL    clients that are new have made a call before
//     fresh REQUESTS             CALL    one that is new, with its first call
//     paced PER_SECOND SECONDS   CALL
//     weigh                      CALL
//     leave                      ADDRESS
//     secure REPETITIONS MECHANISM SUITE KEYS PAYLOADS echo|books COUNT     in memory; open likewise
//   CALL: ADDRESS MECHANISM SUITE KEYS PAYLOADS OPERATION COUNT
//
// Clients of an address, with a mechanism and an operation, are kept from job to job until it is left.
#include <csignal>
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "EchoSoap11.nsmap"
#include "client.hpp"
#include "memory.hpp"
#include "serving.hpp"

namespace {

// Connections that a paced client opens at most.
constexpr std::size_t paced_clients = 64;

using Words = std::vector<std::string>;

Words split(const std::string &line) {
    Words words;
    std::istringstream stream(line);
    for (std::string word; std::getline(stream, word, '\t');) {
        words.push_back(word);
    }
    return words;
}

std::string quoted(const std::string &text) {
    std::string json = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') {
            json += '\\';
        }
        json += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return json + '"';
}

// All clients of one operation at one address.
struct Clients {
    Security security;
    std::string address, operation;
    std::size_t count;
    const Payloads &payloads;
    std::vector<std::unique_ptr<Client>> kept{};

    // The connection is made with the first call of each, which does not count unless it is asked for.
    std::vector<Client *> first(std::size_t number, bool first_call_counts = false) {
        std::vector<Client *> found;
        for (std::size_t i = 0; i < number; i++) {
            if (i == kept.size()) {
                kept.push_back(std::make_unique<Client>(security, address, Operation::named(operation, count, payloads)));
                if (!first_call_counts) {
                    kept.back()->call();
                }
            }
            found.push_back(kept[i].get());
        }
        return found;
    }
};

class Jobs {
  public:
    std::string run(const Words &words) {
        const std::string &job = words.at(0);
        if (job == "together") {
            return times(together(clients(words, 3).first(std::stoul(words.at(1))), std::stoi(words.at(2))));
        }
        if (job == "fresh") {
            return times(together(clients(words, 2).first(1, true), std::stoi(words.at(1))));
        }
        if (job == "paced") {
            return times(paced(clients(words, 3).first(paced_clients), std::stod(words.at(1)), std::stod(words.at(2))));
        }
        if (job == "weigh") {
            Client &client = *clients(words, 1).first(1).front();
            client.call();
            return "{\"exit\":0,\"octets\":" + std::to_string(client.weight()) + "}";
        }
        if (job == "secure" || job == "open") {
            Security security(words.at(2), words.at(3), words.at(4), "server", "server");
            const Payloads &known = payloads(words.at(5));
            return times(in_memory(job, std::stoi(words.at(1)), security, words.at(6), std::stoul(words.at(7)), known));
        }
        if (job == "leave") {
            const std::string address = words.at(1) + '\t';
            for (auto kept = kept_.begin(); kept != kept_.end();) {
                kept = kept->first.rfind(address, 0) == 0 ? kept_.erase(kept) : std::next(kept);
            }
            return "{\"exit\":0}";
        }
        throw std::runtime_error("job: expected together, fresh, paced, weigh, secure, open or leave, found " + job);
    }

  private:
    Clients &clients(const Words &words, std::size_t at) {
        const std::string &address = words.at(at), &operation = words.at(at + 5), &count = words.at(at + 6);
        std::string name = address + '\t' + words.at(at + 1) + '\t' + words.at(at + 2) + '\t' + operation + '\t' + count;
        auto found = kept_.find(name);
        if (found == kept_.end()) {
            const Payloads &known = payloads(words.at(at + 4));
            Security security(words.at(at + 1), words.at(at + 2), words.at(at + 3), "client", "server");
            found = kept_.emplace(name, Clients{std::move(security), address, operation, std::stoul(count), known}).first;
        }
        return found->second;
    }

    const Payloads &payloads(const std::string &folder) {
        if (payloads_.books.empty()) {
            payloads_ = Payloads::in(folder);
        }
        return payloads_;
    }

    static std::string times(const std::vector<Microseconds> &all) {
        std::string json = "{\"exit\":0,\"us\":[";
        for (const Microseconds &one : all) {
            char number[32];
            snprintf(number, sizeof number, "%s%.1f", &one == &all.front() ? "" : ",", one.count());
            json += number;
        }
        return json + "]}";
    }

    Payloads payloads_;
    std::map<std::string, Clients> kept_;
};

void call() {
    Jobs jobs;
    for (std::string line; std::getline(std::cin, line);) {
        std::string answer;
        try {
            answer = jobs.run(split(line));
        } catch (const std::exception &failure) {
            answer = "{\"exit\":1,\"reason\":" + quoted(failure.what()) + "}";
        }
        std::cout << answer << std::endl;
    }
}

} // namespace

int main(int count, char **arguments) {
    Words words(arguments + 1, arguments + count);
    signal(SIGPIPE, SIG_IGN);
    soap_ssl_init();
    try {
        if (words.size() == 1 && words[0] == "call") {
            call();
            return 0;
        }
        if ((words.size() == 7 || words.size() == 8) && words[0] == "serve") {
            Security security(words[2], words[3], words[4], "server", "client");
            std::string tls = words.size() == 8 ? words[7] : "";
            Serving{std::move(security), Payloads::in(words[5]), words[6], tls}.serve(std::stoi(words[1]));
        }
        std::cerr << "usage: peer serve PORT MECHANISM SUITE KEYS PAYLOADS CONTROLLER [TLS.pem] | peer call\n";
    } catch (const std::exception &failure) {
        std::cerr << "peer: " << failure.what() << '\n';
    }
    return 1;
}
