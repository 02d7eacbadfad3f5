package soapstone.interop;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.atomic.AtomicLong;

import org.apache.cxf.Bus;
import org.apache.cxf.message.Message;
import org.apache.cxf.phase.AbstractPhaseInterceptor;
import org.apache.cxf.phase.Phase;

/** Counts messages and their octets as a client sends and gets them, without the headers of HTTP. */
final class Weighing {
    private final AtomicLong octets = new AtomicLong();
    private final AtomicLong requests = new AtomicLong();

    void listen(Bus bus) {
        bus.getOutInterceptors().add(new Sent());
        bus.getInInterceptors().add(new Got());
    }

    /** Begins anew. */
    void begin() {
        octets.set(0);
        requests.set(0);
    }

    /** The octets of all messages since the beginning. */
    long octets() {
        return octets.get();
    }

    /** Whether one request was made since the beginning, and no other beside it, such as one for a token. */
    boolean isOfOneRequest() {
        return requests.get() == 1;
    }

    private final class Sent extends AbstractPhaseInterceptor<Message> {
        Sent() {
            super(Phase.PRE_STREAM);
        }

        @Override
        public void handleMessage(Message message) {
            OutputStream wire = message.getContent(OutputStream.class);
            if (wire != null) {
                requests.incrementAndGet();
                message.setContent(OutputStream.class, Counting.writing(wire, octets));
            }
        }
    }

    private final class Got extends AbstractPhaseInterceptor<Message> {
        Got() {
            super(Phase.RECEIVE);
        }

        @Override
        public void handleMessage(Message message) {
            InputStream wire = message.getContent(InputStream.class);
            if (wire != null) {
                message.setContent(InputStream.class, Counting.reading(wire, octets));
            }
        }
    }
}
