package soapstone.interop;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import javax.xml.namespace.QName;

import jakarta.xml.ws.BindingProvider;
import jakarta.xml.ws.Service;

/**
 * The clients of one service, made as they are needed and kept: proxies on a generated interface, each with a conversation
 * of its own where the policy asks for one.
 */
final class Clients {
    private final Options options;
    private final Class<?> port;
    private final Configuration configuration;
    private final List<Object> proxies = new ArrayList<>();
    /** How many of them, from the first on, have called since conversations were ended. */
    private int called;

    Clients(Options options, Class<?> port) throws Exception {
        this.options = options;
        this.port = port;
        configuration = new Configuration(Path.of(options.required("configuration")), Clients.class.getClassLoader());
    }

    /** What a thread has as its class path for as long as it calls. */
    ClassLoader configuration() {
        return configuration;
    }

    /** So many clients; those among them that were made just now have made a call before, unless the first one counts. */
    List<Object> first(int count, Operation<?, ?> operation, boolean firstCallCounts) throws Exception {
        int known = proxies.size();
        while (proxies.size() < count) {
            proxies.add(proxy());
        }
        if (!firstCallCounts && known < count) {
            Timing.introduce(proxies.subList(known, count), operation);
        }
        called = Math.max(called, count);
        return proxies.subList(0, count);
    }

    /** Ends the conversations of all clients that have called, and has others in their place; how many there were. */
    int part() throws Exception {
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        Thread.currentThread().setContextClassLoader(configuration);
        try {
            int parted = called;
            for (int i = 0; i < parted; i++) {
                ((AutoCloseable) proxies.get(i)).close();
                proxies.set(i, proxy());
            }
            called = 0;
            return parted;
        } finally {
            Thread.currentThread().setContextClassLoader(before);
        }
    }

    private Object proxy() throws Exception {
        Service service =
            Service.create(Path.of(options.required("wsdl")).toUri().toURL(), QName.valueOf(options.required("service")));
        Object proxy = service.getPort(QName.valueOf(options.required("port")), port);
        Map<String, Object> context = ((BindingProvider) proxy).getRequestContext();
        context.put(BindingProvider.ENDPOINT_ADDRESS_PROPERTY, options.required("address"));
        return proxy;
    }

    /** Ends conversations and connections of all clients. */
    void leave() throws Exception {
        for (Object proxy : proxies) {
            ((AutoCloseable) proxy).close();
        }
    }
}
