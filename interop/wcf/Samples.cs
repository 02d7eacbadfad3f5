using System.IO;
using System.Linq;
using System.ServiceModel;
using System.ServiceModel.Channels;
using System.Xml;
using System.Xml.Serialization;

namespace Soapstone.Interop {
    /// <summary>Where messages of a namespace come from: crates/services/contract.</summary>
    static class Names {
        public const string Books = "urn:soapstone:services:books";
        public const string Employees = "urn:soapstone:services:employees";
    }

    public sealed class Named {
        [XmlElement("id", Order = 0)]
        public int Id;
        [XmlElement("name", Order = 1)]
        public string Name;
    }

    public sealed class Book {
        [XmlElement("id", Order = 0)]
        public int Id;
        [XmlElement("isbn", Order = 1)]
        public string Isbn;
        [XmlElement("title", Order = 2)]
        public string Title;
        [XmlElement("price", Order = 3)]
        public decimal Price;
        [XmlElement("year", Order = 4)]
        public int Year;
        [XmlElement("author", Order = 5)]
        public Named Author;
        [XmlElement("publisher", Order = 6)]
        public Named Publisher;

        public bool Is(Book other) {
            return Id == other.Id && Isbn == other.Isbn && Title == other.Title && Price == other.Price && Year == other.Year
                && Author.Id == other.Author.Id && Author.Name == other.Author.Name
                && Publisher.Id == other.Publisher.Id && Publisher.Name == other.Publisher.Name;
        }
    }

    [XmlRoot("getBooks", Namespace = Names.Books)]
    public sealed class GetBooks {
        [XmlElement("n")]
        public int Count;
    }

    [XmlRoot("getBooksResponse", Namespace = Names.Books)]
    public sealed class GetBooksResponse {
        [XmlElement("book")]
        public Book[] Books;
    }

    public sealed class Employee {
        [XmlElement("name", Order = 0)]
        public string Name;
        [XmlElement("empNumber", Order = 1)]
        public string Number;
        [XmlElement("email", Order = 2)]
        public string Email;
        [XmlElement("position", Order = 3)]
        public string Position;
        [XmlElement("dateOfBirth", Order = 4)]
        public string DateOfBirth;
        [XmlElement("ssn", Order = 5)]
        public string Ssn;
        [XmlElement("homeAddress", Order = 6)]
        public string HomeAddress;
        [XmlElement("phoneNumber", Order = 7)]
        public string PhoneNumber;

        public bool Is(Employee other) {
            return Name == other.Name && Number == other.Number && Email == other.Email && Position == other.Position
                && DateOfBirth == other.DateOfBirth && Ssn == other.Ssn && HomeAddress == other.HomeAddress && PhoneNumber == other.PhoneNumber;
        }
    }

    [XmlRoot("EmployeeDetails", Namespace = Names.Employees)]
    public sealed class EmployeeDetails {
    }

    [XmlRoot("EmployeeDetailsResponse", Namespace = Names.Employees)]
    public sealed class EmployeeDetailsResponse {
        [XmlElement("employee")]
        public Employee[] Employees;
    }

    /// <summary>crates/services/contract/books.wsdl: Bodies are read and written by XmlSerializer, as lists without an element of their own want it.</summary>
    [ServiceContract(Namespace = Names.Books, Name = "Books")]
    interface IBooks {
        [OperationContract(Action = Names.Books + ":getBooks", ReplyAction = "*")]
        Message Books(Message request);
    }

    /// <summary>crates/services/contract/employees.wsdl</summary>
    [ServiceContract(Namespace = Names.Employees, Name = "Employees")]
    interface IEmployees {
        [OperationContract(Action = Names.Employees + ":EmployeeDetails", ReplyAction = "*")]
        Message Details(Message request);
    }

    /// <summary>Objects as messages, and messages as objects.</summary>
    static class Bodies {
        public static Message Write<T>(T body, MessageVersion version, string action) {
            return Message.CreateMessage(version, action, new Serialized<T>(body));
        }

        public static T Read<T>(Message message) {
            if (message.IsFault) {
                throw new FaultException(MessageFault.CreateFault(message, int.MaxValue));
            }
            using (var reader = message.GetReaderAtBodyContents()) {
                return (T) Serializer<T>.One.Deserialize(reader);
            }
        }

        /// <summary>The content of the Body in a file with an envelope.</summary>
        public static T Recorded<T>(string path) {
            using (var reader = XmlReader.Create(path)) {
                reader.ReadToFollowing("Body", "http://schemas.xmlsoap.org/soap/envelope/");
                do {
                    reader.Read();
                } while (reader.NodeType != XmlNodeType.Element);
                return (T) Serializer<T>.One.Deserialize(reader);
            }
        }

        static class Serializer<T> {
            public static readonly XmlSerializer One = new XmlSerializer(typeof(T));
        }

        sealed class Serialized<T> : BodyWriter {
            readonly T body;

            public Serialized(T body) : base(true) {
                this.body = body;
            }

            protected override void OnWriteBodyContents(XmlDictionaryWriter writer) {
                Serializer<T>.One.Serialize(writer, body);
            }
        }
    }

    /// <summary>What the sample services answer, recorded: read once.</summary>
    static class Payloads {
        static Book[] books;
        static Employee[] employees;

        public static void In(string folder) {
            if (books == null) {
                books = Bodies.Recorded<GetBooksResponse>(Path.Combine(folder, "books.xml")).Books;
                employees = Bodies.Recorded<EmployeeDetailsResponse>(Path.Combine(folder, "employees.xml")).Employees;
            }
        }

        public static Book[] Books(int count) {
            if (count < 0 || count > books.Length) {
                throw new MistakenOption("books: expected 0 to " + books.Length + ", found " + count);
            }
            return books.Take(count).ToArray();
        }

        public static Employee[] Employees() {
            return employees;
        }
    }

    sealed class Adding : ISum {
        public long Sum(int a, int b) {
            return (long) a + b;
        }
    }

    sealed class InMemoryBooks : IBooks {
        public Message Books(Message request) {
            var count = Bodies.Read<GetBooks>(request).Count;
            var answer = new GetBooksResponse { Books = Payloads.Books(count) };
            return Bodies.Write(answer, request.Version, Names.Books + ":getBooksResponse");
        }
    }

    sealed class AllEmployees : IEmployees {
        public Message Details(Message request) {
            var answer = new EmployeeDetailsResponse { Employees = Payloads.Employees() };
            return Bodies.Write(answer, request.Version, Names.Employees + ":EmployeeDetailsResponse");
        }
    }
}
