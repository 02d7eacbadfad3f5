#include "payloads.hpp"

#include <fstream>
#include <stdexcept>

namespace {

// Reads an envelope whose Body holds one element.
template <typename Answer, typename Get> Answer read(const std::string &path, Get get) {
    std::ifstream file(path, std::ios::binary);
    soap *context = soap_new1(SOAP_C_UTFSTRING);
    context->is = &file;
    Answer answer;
    answer.soap_default(context);
    // The context is kept: the objects of the answer belong to it.
    if (!file || soap_begin_recv(context) || soap_envelope_begin_in(context) || soap_recv_header(context) ||
        soap_body_begin_in(context) || !get(context, answer) || soap_body_end_in(context) || soap_envelope_end_in(context)) {
        throw std::runtime_error(path + ": expected a recorded answer of the sample services");
    }
    return answer;
}

bool same(const books__Book &one, const books__Book &other) {
    return one.id == other.id && one.isbn == other.isbn && one.title == other.title && one.price == other.price &&
           one.year == other.year && one.author->id == other.author->id && one.author->name == other.author->name &&
           one.publisher->id == other.publisher->id && one.publisher->name == other.publisher->name;
}

bool same(const employees__Employee &one, const employees__Employee &other) {
    return one.name == other.name && one.empNumber == other.empNumber && one.email == other.email &&
           one.position == other.position && one.dateOfBirth == other.dateOfBirth && one.ssn == other.ssn &&
           one.homeAddress == other.homeAddress && one.phoneNumber == other.phoneNumber;
}

} // namespace

Payloads Payloads::in(const std::string &folder) {
    auto books = read<_books__getBooksResponse>(folder + "/books.xml", [](soap *context, auto &answer) {
        return soap_get__books__getBooksResponse(context, &answer, "books:getBooksResponse", nullptr);
    });
    auto records = [&folder](const std::string &file) {
        auto answer = read<_employees__EmployeeDetailsResponse>(folder + file, [](soap *context, auto &found) {
            return soap_get__employees__EmployeeDetailsResponse(context, &found, "employees:EmployeeDetailsResponse", nullptr);
        });
        return answer.employee;
    };
    return {books.book, records("/employees.xml"), records("/employee.xml")};
}

std::string text_of_length(std::size_t length) {
    const std::string words = "Hello World ";
    std::string text;
    while (text.size() < length) {
        text += words;
    }
    text.resize(length);
    if (!text.empty() && text.back() == ' ') {
        text.back() = '.';
    }
    return text;
}

bool same(const std::vector<books__Book *> &expected, std::size_t count, const std::vector<books__Book *> &found) {
    if (found.size() != count) {
        return false;
    }
    for (std::size_t i = 0; i < count; i++) {
        if (!same(*expected[i], *found[i])) {
            return false;
        }
    }
    return true;
}

bool same(const std::vector<employees__Employee *> &expected, const std::vector<employees__Employee *> &found) {
    if (found.size() != expected.size()) {
        return false;
    }
    for (std::size_t i = 0; i < expected.size(); i++) {
        if (!same(*expected[i], *found[i])) {
            return false;
        }
    }
    return true;
}
