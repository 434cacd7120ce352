import { hash } from 'node:crypto'

const MAGIC = 0xfeedfeed
const VERSION = 2
const TRUSTED_CERTIFICATE = 2
/** Java hashes it behind the password, in front of the store. */
const SALT = 'Mighty Aphrodite'
/** The one that Java's own store has. A store of public certificates hides nothing. */
const PASSWORD = 'changeit'
const certificate = /-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----/g

/** Returns the certificates of a PEM text as a Java key store, which is the one form of them that Java reads. */
export function javaTrustStore(pem: string): Buffer {
  const found = [...pem.matchAll(certificate)].map(([, base64 = '']) => Buffer.from(base64, 'base64'))
  const entries = found.map((content, index) =>
    Buffer.concat([
      numbers(TRUSTED_CERTIFICATE),
      text(`authority-${index}`),
      // When it was added, in milliseconds: nobody reads it.
      Buffer.alloc(8),
      text('X.509'),
      numbers(content.length),
      content,
    ]),
  )
  const store = Buffer.concat([numbers(MAGIC, VERSION, entries.length), ...entries])
  const password = Buffer.from(PASSWORD, 'utf16le').swap16()
  return Buffer.concat([store, hash('sha1', Buffer.concat([password, Buffer.from(SALT), store]), 'buffer')])
}

function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index)
  return bytes
}

/** A text of plain letters, behind its length. */
function text(value: string): Buffer {
  const bytes = Buffer.alloc(2 + value.length)
  bytes.writeUInt16BE(value.length)
  bytes.write(value, 2, 'latin1')
  return bytes
}
