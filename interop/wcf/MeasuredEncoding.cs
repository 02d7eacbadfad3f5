using System;
using System.IO;
using System.ServiceModel.Channels;
using System.Threading;
using System.Xml;

namespace Soapstone.Interop {
    /// <summary>Text as WCF's own encoder reads and writes it, of any length, with its bytes counted.</summary>
    sealed class MeasuredEncoding : AroundText {
        static long octets;

        public MeasuredEncoding(MessageVersion version) : base(version) {
            XmlDictionaryReaderQuotas.Max.CopyTo(text.ReaderQuotas);
        }

        /// <summary>The bytes of all messages since the beginning.</summary>
        public static long Octets {
            get { return Interlocked.Read(ref octets); }
        }

        public static void Begin() {
            Interlocked.Exchange(ref octets, 0);
        }

        public override BindingElement Clone() {
            return new MeasuredEncoding(MessageVersion);
        }

        protected override MessageEncoder Around(MessageEncoder encoder) {
            return new Encoding(encoder);
        }

        new sealed class Encoding : AroundText.Encoding {
            public Encoding(MessageEncoder text) : base(text) {
            }

            public override Message ReadMessage(Stream stream, int largestHeader, string contentType) {
                var read = new MemoryStream();
                stream.CopyTo(read);
                Interlocked.Add(ref octets, read.Length);
                read.Position = 0;
                return text.ReadMessage(read, largestHeader, contentType);
            }

            public override Message ReadMessage(ArraySegment<byte> read, BufferManager manager, string contentType) {
                Interlocked.Add(ref octets, read.Count);
                return text.ReadMessage(read, manager, contentType);
            }

            public override void WriteMessage(Message message, Stream stream) {
                var written = new MemoryStream();
                text.WriteMessage(message, written);
                Interlocked.Add(ref octets, written.Length);
                written.WriteTo(stream);
            }

            public override ArraySegment<byte> WriteMessage(Message message, int largest, BufferManager manager, int offset) {
                var written = text.WriteMessage(message, largest, manager, offset);
                Interlocked.Add(ref octets, written.Count);
                return written;
            }
        }
    }
}
