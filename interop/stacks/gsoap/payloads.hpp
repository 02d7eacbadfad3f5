// What the sample services answer, as gSOAP's objects, read from recorded answers.
#pragma once

#include <string>
#include <vector>

#include "soapH.h"

struct Payloads {
    std::vector<books__Book *> books;
    std::vector<employees__Employee *> employees;
    // The one record of a study.
    std::vector<employees__Employee *> employee;

    // The answers books.xml (all there are), employees.xml and employee.xml of a folder. They live as long as the program.
    static Payloads in(const std::string &folder);
};

// What the services' own clients send: words and spaces, no space at its ends.
std::string text_of_length(std::size_t length);

bool same(const std::vector<books__Book *> &expected, std::size_t count, const std::vector<books__Book *> &found);
bool same(const std::vector<employees__Employee *> &expected, const std::vector<employees__Employee *> &found);
