// A sensor behind the controller that the sample services know: nine octets each way over UDP, asked again when no answer comes.
#pragma once

#include <string>

// What the sensor measures now, in hundredths of a degree Celsius; `controller` is HOST:PORT in numbers. Throws std::runtime_error.
int hundredths_of_sensor(const std::string &controller);
