package soapstone.interop;

import java.net.MalformedURLException;
import java.net.URL;
import java.nio.file.Path;

/** A class path with the configuration of one client on it, where Metro looks for it. */
final class Configuration extends ClassLoader {
    private static final String NAME = "META-INF/wsit-client.xml";

    private final URL file;

    Configuration(Path file, ClassLoader parent) throws MalformedURLException {
        super(parent);
        this.file = file.toUri().toURL();
    }

    @Override
    public URL getResource(String name) {
        return name.equals(NAME) ? file : super.getResource(name);
    }
}
