/** Formats that are transcribed, each with the name of the decoder that reads only this format. */
export const audioFormats = {
  flac: { demuxer: 'flac', mediaType: 'audio/flac' },
  mp3: { demuxer: 'mp3', mediaType: 'audio/mpeg' },
  mp4: { demuxer: 'mov', mediaType: 'audio/mp4' },
  ogg: { demuxer: 'ogg', mediaType: 'audio/ogg' },
  wav: { demuxer: 'wav', mediaType: 'audio/wav' },
  webm: { demuxer: 'matroska', mediaType: 'audio/webm' },
} as const

export type AudioFormat = keyof typeof audioFormats

/** Returns the format of a recording by its first bytes, whatever the sender declares; null for an unknown one. */
export function audioFormatOf(bytes: Buffer): AudioFormat | null {
  const at = (offset: number, text: string) => bytes.toString('latin1', offset, offset + text.length) === text
  if (at(0, 'fLaC')) return 'flac'
  if (at(0, 'OggS')) return 'ogg'
  if (at(0, 'RIFF') && at(8, 'WAVE')) return 'wav'
  if (at(4, 'ftyp')) return 'mp4'
  // Matroska begins the same way; the document type that follows differs.
  if (bytes.subarray(0, 4).equals(Buffer.of(0x1a, 0x45, 0xdf, 0xa3))) {
    return bytes.subarray(0, 64).includes('webm') ? 'webm' : null
  }
  return at(0, 'ID3') || isLayer3Frame(bytes) ? 'mp3' : null
}

/**
 * Checks a frame's header: eleven bits of sync, then version, layer III, bit rate and sample rate, all of them defined.
 */
function isLayer3Frame(bytes: Buffer): boolean {
  if (bytes.length < 4) return false
  const [head, layer, rates] = [bytes.readUInt16BE(0), (bytes.readUInt8(1) >> 1) & 3, bytes.readUInt8(2)]
  const version = (bytes.readUInt8(1) >> 3) & 3
  return (head & 0xffe0) === 0xffe0 && version !== 1 && layer === 1 && rates >> 4 !== 15 && ((rates >> 2) & 3) !== 3
}
