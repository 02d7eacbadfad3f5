package soapstone.interop;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.cxf.Bus;
import org.apache.cxf.io.CachedOutputStream;
import org.apache.cxf.io.CachedOutputStreamCallback;
import org.apache.cxf.io.CacheAndWriteOutputStream;
import org.apache.cxf.message.Message;
import org.apache.cxf.phase.AbstractPhaseInterceptor;
import org.apache.cxf.phase.Phase;

/** Writes every message as it is on the wire, numbered in the order of the exchanges, into a folder for each path. */
final class Recorder {
    private static final String EXCHANGE = Recorder.class.getName();

    private final Path folder;
    private final Map<String, Integer> exchanges = new ConcurrentHashMap<>();

    Recorder(Path folder) {
        this.folder = folder;
    }

    void listen(Bus bus) {
        bus.getInInterceptors().add(new Requests());
        bus.getOutInterceptors().add(new Answers());
        bus.getOutFaultInterceptors().add(new Answers());
    }

    private static void write(Path file, byte[] octets) {
        try {
            Files.createDirectories(file.getParent());
            Files.write(file, octets);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private final class Requests extends AbstractPhaseInterceptor<Message> {
        Requests() {
            super(Phase.RECEIVE);
        }

        @Override
        public void handleMessage(Message message) {
            InputStream content = message.getContent(InputStream.class);
            if (content == null || !"POST".equals(message.get(Message.HTTP_REQUEST_METHOD))) {
                return;
            }
            String path = ((String) message.get(Message.REQUEST_URI)).substring(1);
            String exchange = path + "/" + exchanges.merge(path, 1, Integer::sum);
            message.getExchange().put(EXCHANGE, exchange);
            try {
                byte[] octets = content.readAllBytes();
                write(folder.resolve(exchange + ".request.xml"), octets);
                message.setContent(InputStream.class, new ByteArrayInputStream(octets));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private final class Answers extends AbstractPhaseInterceptor<Message> {
        Answers() {
            super(Phase.PRE_STREAM);
        }

        @Override
        public void handleMessage(Message message) {
            String exchange = (String) message.getExchange().get(EXCHANGE);
            OutputStream wire = message.getContent(OutputStream.class);
            if (exchange == null || wire == null) {
                return;
            }
            CacheAndWriteOutputStream copied = new CacheAndWriteOutputStream(wire);
            copied.registerCallback(new CachedOutputStreamCallback() {
                @Override
                public void onFlush(CachedOutputStream stream) {
                    // The whole message is written when it ends.
                }

                @Override
                public void onClose(CachedOutputStream stream) {
                    try {
                        write(folder.resolve(exchange + ".response.xml"), stream.getBytes());
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                }
            });
            message.setContent(OutputStream.class, copied);
        }
    }
}
