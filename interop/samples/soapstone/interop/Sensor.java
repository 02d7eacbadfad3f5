package soapstone.interop;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A sensor behind the controller that the sample services know: nine octets each way over UDP, asked again when no answer
 * comes. {@code soapstone services controller} runs one.
 */
final class Sensor {
    private static final int LENGTH = 9;
    private static final byte START = 0x02;
    private static final byte END = 0x03;
    private static final byte READ = 0x10;
    private static final byte VALUE = 0x11;
    private static final short NUMBER = 1;
    private static final int PATIENCE_MILLIS = 250;
    private static final int REQUESTS = 6;

    private final InetSocketAddress controller;
    private final AtomicInteger sequence = new AtomicInteger();

    private Sensor(InetSocketAddress controller) {
        this.controller = controller;
    }

    /** The sensor whose controller listens at {@code host:port}. */
    static Sensor at(String controller) {
        int colon = controller.lastIndexOf(':');
        return new Sensor(new InetSocketAddress(controller.substring(0, colon), Integer.parseInt(controller.substring(colon + 1))));
    }

    /** What it measures now, in hundredths of a degree Celsius. */
    int hundredths() {
        int number = sequence.incrementAndGet();
        byte[] request = ByteBuffer.allocate(LENGTH).put(START).put(READ).putInt(number).putShort(NUMBER).put(END).array();
        try (DatagramSocket socket = new DatagramSocket()) {
            socket.connect(controller);
            socket.setSoTimeout(PATIENCE_MILLIS);
            for (int asked = 0; asked < REQUESTS; asked++) {
                socket.send(new DatagramPacket(request, LENGTH));
                Short value = value(socket, number);
                if (value != null) {
                    return value;
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        throw new IllegalStateException("the controller answered none of " + REQUESTS + " requests");
    }

    /** The value of that request; null when none came in time. */
    private static Short value(DatagramSocket socket, int number) throws IOException {
        DatagramPacket packet = new DatagramPacket(new byte[LENGTH + 1], LENGTH + 1);
        try {
            while (true) {
                socket.receive(packet);
                ByteBuffer answer = ByteBuffer.wrap(packet.getData(), 0, packet.getLength());
                if (answer.remaining() == LENGTH && answer.get() == START && answer.get() == VALUE && answer.getInt() == number) {
                    return answer.getShort();
                }
            }
        } catch (SocketTimeoutException late) {
            return null;
        }
    }
}
