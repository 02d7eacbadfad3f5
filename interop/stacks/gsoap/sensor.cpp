#include "sensor.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

using Datagram = std::array<std::uint8_t, 9>;

constexpr std::uint8_t begins = 0x02, ends = 0x03, read_value = 0x10, value = 0x11, number = 1;
constexpr int requests = 6;
constexpr timeval patience = {0, 250'000};

std::atomic<std::uint32_t> last_sequence{0};

// A socket that hears the controller alone, and closes with its scope.
class Line {
  public:
    Line() = default;
    Line(const Line &) = delete;
    Line &operator=(const Line &) = delete;
    ~Line() {
        if (socket_ >= 0) {
            close(socket_);
        }
    }

    void reach(const std::string &controller) const {
        std::size_t colon = controller.rfind(':');
        sockaddr_in address{};
        address.sin_family = AF_INET;
        if (colon == std::string::npos || inet_pton(AF_INET, controller.substr(0, colon).c_str(), &address.sin_addr) != 1) {
            throw std::runtime_error("controller: expected HOST:PORT, found " + controller);
        }
        address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(controller.substr(colon + 1))));
        if (connect(socket_, reinterpret_cast<sockaddr *>(&address), sizeof address) ||
            setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience)) {
            throw std::runtime_error("controller: cannot be asked at " + controller);
        }
    }

    // What is lost is asked again.
    void send(const Datagram &datagram) const { (void)::send(socket_, datagram.data(), datagram.size(), 0); }

    // False when nothing came in time.
    bool receive(Datagram &datagram) const {
        return recv(socket_, datagram.data(), datagram.size(), 0) == static_cast<ssize_t>(datagram.size());
    }

  private:
    int socket_ = socket(AF_INET, SOCK_DGRAM, 0);
};

} // namespace

int hundredths_of_sensor(const std::string &controller) {
    Line line;
    line.reach(controller);
    std::uint32_t sequence = ++last_sequence;
    auto octet = [sequence](int shift) { return static_cast<std::uint8_t>(sequence >> shift); };
    const Datagram request = {begins, read_value, octet(24), octet(16), octet(8), octet(0), 0, number, ends};
    for (int asked = 0; asked < requests; asked++) {
        line.send(request);
        for (Datagram answer; line.receive(answer);) {
            if (answer[1] == value && std::equal(answer.begin() + 2, answer.begin() + 6, request.begin() + 2)) {
                return static_cast<std::int16_t>(answer[6] << 8 | answer[7]);
            }
        }
    }
    throw std::runtime_error("the controller answered none of " + std::to_string(requests) + " requests");
}
