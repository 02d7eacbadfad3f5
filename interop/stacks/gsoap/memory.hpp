// What securing and opening a message costs without a network: an answer of the services goes from gSOAP's object into a string,
// and from a string into an object, as the plugin signs and encrypts while gSOAP writes, and decrypts and verifies while it reads.
#pragma once

#include <string>
#include <vector>

#include "client.hpp"

// The time of each of so many repetitions of `secure` or `open`, with the answer of `echo` (so many characters) or `books`. Each
// message is opened once: the plugin remembers nonces. Throws std::runtime_error.
std::vector<Microseconds> in_memory(const std::string &verb, int repetitions, const Security &security,
                                    const std::string &payload, std::size_t items, const Payloads &payloads);
