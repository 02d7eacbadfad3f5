package soapstone.interop;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

import jakarta.xml.bind.JAXBContext;

import soapstone.samples.books.Book;
import soapstone.samples.books.GetBooksResponse;
import soapstone.samples.employees.Employee;
import soapstone.samples.employees.EmployeeDetailsResponse;

/**
 * What the sample services answer, as objects: read once from their recorded answers, so that both sides of a
 * measurement hold the very data that other stacks serve.
 */
record Payloads(List<Book> books, List<Employee> employees, List<Employee> employee) {
    /** The answers {@code books.xml} (all there are), {@code employees.xml} and {@code employee.xml} (the one of a study) in a folder. */
    static Payloads in(Path folder) throws Exception {
        return new Payloads(read(folder.resolve("books.xml"), GetBooksResponse.class).getBook(),
            read(folder.resolve("employees.xml"), EmployeeDetailsResponse.class).getEmployee(),
            read(folder.resolve("employee.xml"), EmployeeDetailsResponse.class).getEmployee());
    }

    private static <T> T read(Path file, Class<T> type) throws Exception {
        try (InputStream octets = Files.newInputStream(file)) {
            XMLInputFactory factory = XMLInputFactory.newFactory();
            factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
            XMLStreamReader reader = factory.createXMLStreamReader(octets);
            toContent(reader, file);
            return JAXBContext.newInstance(type).createUnmarshaller().unmarshal(reader, type).getValue();
        }
    }

    private static void toContent(XMLStreamReader reader, Path file) throws XMLStreamException {
        boolean inBody = false;
        while (reader.hasNext()) {
            if (reader.next() == XMLStreamConstants.START_ELEMENT) {
                if (inBody) {
                    return;
                }
                inBody = reader.getLocalName().equals("Body");
            }
        }
        throw new IllegalArgumentException(file + ": expected an element in the Body, found none");
    }

    /** The first so many books. */
    List<Book> books(int count) {
        if (count < 0 || count > books.size()) {
            throw new IllegalArgumentException("books: expected 0 to " + books.size() + ", found " + count);
        }
        return books.subList(0, count);
    }

    static boolean same(Book one, Book other) {
        return one.getId() == other.getId() && one.getYear() == other.getYear()
            && one.getIsbn().equals(other.getIsbn()) && one.getTitle().equals(other.getTitle())
            && one.getPrice().equals(other.getPrice())
            && one.getAuthor().getId() == other.getAuthor().getId()
            && one.getAuthor().getName().equals(other.getAuthor().getName())
            && one.getPublisher().getId() == other.getPublisher().getId()
            && one.getPublisher().getName().equals(other.getPublisher().getName());
    }

    static boolean same(Employee one, Employee other) {
        return one.getName().equals(other.getName()) && one.getEmpNumber().equals(other.getEmpNumber())
            && one.getEmail().equals(other.getEmail()) && one.getPosition().equals(other.getPosition())
            && one.getDateOfBirth().equals(other.getDateOfBirth()) && one.getSsn().equals(other.getSsn())
            && one.getHomeAddress().equals(other.getHomeAddress())
            && one.getPhoneNumber().equals(other.getPhoneNumber());
    }
}
