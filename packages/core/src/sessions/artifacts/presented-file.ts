import { extname } from 'node:path'
import { artifactLimits } from '@berth/contract'
import type { PresentedEntry, PresentedLimits } from '@berth/supervisor/tree'

/** Returns how much more a Run may present, given how much it has. */
export function presentedLimits(already: { readonly count: number; readonly bytes: number }): PresentedLimits {
  return {
    eachBytes: artifactLimits.presentedFileMaxBytes,
    totalBytes: Math.max(0, artifactLimits.presentedFilesMaxBytes - already.bytes),
    count: Math.max(0, artifactLimits.presentedFilesMax - already.count),
  }
}

const reasons: Readonly<Record<keyof PresentedLimits, string>> = {
  eachBytes: `over the cap of ${artifactLimits.presentedFileMaxBytes} bytes for a presented file`,
  totalBytes: `over the cap of ${artifactLimits.presentedFilesMaxBytes} bytes for all files of a run`,
  count: `over the cap of ${artifactLimits.presentedFilesMax} files of a run`,
}

/** Returns the data of the Event for a presented file that was not kept. */
export function presentedOmission(entry: Pick<PresentedEntry, 'name' | 'sizeBytes'>, reason: keyof PresentedLimits) {
  return { kind: 'presented_file', name: entry.name, sizeBytes: entry.sizeBytes, reason: reasons[reason] } as const
}

/** Decodes a name, given with one character a byte, as UTF-8 and replaces its control characters. */
export function presentedName(bytes: string): string {
  const text = Buffer.from(bytes, 'latin1').toString('utf8')
  return text.replaceAll(/\p{Cc}/gu, '_')
}

/** Media types by file extension, without those that a browser would run. */
const mediaTypes: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.diff': 'text/x-diff',
  '.gif': 'image/gif',
  '.gz': 'application/gzip',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.log': 'text/plain',
  '.md': 'text/markdown',
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.patch': 'text/x-diff',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.tar': 'application/x-tar',
  '.txt': 'text/plain',
  '.wav': 'audio/wav',
  '.webm': 'video/webm',
  '.webp': 'image/webp',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.zip': 'application/zip',
}

export function mediaTypeOf(name: string): string {
  const extension = extname(name).toLowerCase()
  return (Object.hasOwn(mediaTypes, extension) && mediaTypes[extension]) || 'application/octet-stream'
}
