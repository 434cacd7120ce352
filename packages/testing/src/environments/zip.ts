import { createHash } from 'node:crypto'
import { crc32, deflateRawSync } from 'node:zlib'

/** An entry of a ZIP file. What is not given follows from the name and the content, as an honest writer has it. */
export interface ZipEntry {
  readonly name: string | Buffer
  readonly content?: string | Buffer
  readonly deflate?: boolean
  readonly flags?: number
  readonly mode?: number
  /** What both headers say instead of the truth. */
  readonly size?: number
  readonly crc?: number
  /** What the local header alone says. */
  readonly local?: { readonly name?: string; readonly size?: number; readonly flags?: number }
  /** Points to the local header of an earlier entry instead of writing one. */
  readonly over?: number
  /** Whether sizes are in ZIP64 fields. */
  readonly zip64?: boolean
}

/** Writes a ZIP file, also one that no honest program writes. @param count what the end record says */
export function zipOf(entries: readonly ZipEntry[], count = entries.length): Buffer<ArrayBuffer> {
  const locals: Buffer[] = []
  const centrals: Buffer[] = []
  const starts: number[] = []
  let offset = 0
  for (const entry of entries) {
    const content = Buffer.from(entry.content ?? '')
    const data = entry.deflate === true ? deflateRawSync(content) : content
    const name = Buffer.from(entry.name)
    const size = entry.size ?? content.length
    const header = (local: ZipEntry['local'] = {}) => {
      const fields = Buffer.alloc(22)
      const wide = entry.zip64 === true
      fields.writeUInt16LE(wide ? 45 : 20, 0)
      fields.writeUInt16LE(local.flags ?? entry.flags ?? 0, 2)
      fields.writeUInt16LE(entry.deflate === true ? 8 : 0, 4)
      fields.writeUInt32LE(entry.crc ?? crc32(content), 10)
      fields.writeUInt32LE(wide ? 0xffff_ffff : data.length, 14)
      fields.writeUInt32LE(wide ? 0xffff_ffff : (local.size ?? size), 18)
      const extra = Buffer.alloc(wide ? 20 : 0)
      if (wide) {
        extra.writeUInt16LE(1, 0)
        extra.writeUInt16LE(16, 2)
        extra.writeBigUInt64LE(BigInt(local.size ?? size), 4)
        extra.writeBigUInt64LE(BigInt(data.length), 12)
      }
      return { fields, extra, name: local.name === undefined ? name : Buffer.from(local.name) }
    }
    starts.push(entry.over === undefined ? offset : (starts[entry.over] ?? 0))
    if (entry.over === undefined) {
      const { fields, extra, name } = header(entry.local)
      const written = Buffer.concat([numbers('PK\x03\x04'), fields, lengths(name, extra), name, extra, data])
      locals.push(written)
      offset += written.length
    }
    const { fields, extra } = header()
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(((entry.mode ?? 0) << 16) >>> 0, 6)
    rest.writeUInt32LE(starts.at(-1) ?? 0, 10)
    centrals.push(
      Buffer.concat([numbers('PK\x01\x02'), Buffer.from([20, 3]), fields, lengths(name, extra), rest, name, extra]),
    )
  }
  const directory = Buffer.concat(centrals)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(count, 4)
  end.writeUInt16LE(count, 6)
  end.writeUInt32LE(directory.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...locals, directory, numbers('PK\x05\x06'), end])
}

const numbers = (text: string): Buffer => Buffer.from(text, 'latin1')

function lengths(name: Buffer, extra: Buffer): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt16LE(name.length, 0)
  bytes.writeUInt16LE(extra.length, 2)
  return bytes
}

/** The manifest of an extension that this platform accepts. */
export const manifestOf = (more: object = {}): string =>
  JSON.stringify({ id: 'tools', name: 'Tools', version: '1.2.3', compat: { pluginApi: '^1.0.0' }, ...more })

/** An extension's archive with further entries. */
export const extensionOf = (more: object = {}, entries: readonly ZipEntry[] = []): Buffer<ArrayBuffer> =>
  zipOf([{ name: 'extension.json', content: manifestOf(more), deflate: true }, ...entries])

/** Returns the digest by which an archive is uploaded and named. */
export const sha256Of = (content: Buffer): string => createHash('sha256').update(content).digest('hex')
