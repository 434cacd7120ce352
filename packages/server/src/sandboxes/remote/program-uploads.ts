import type { Duplex } from 'node:stream'
import { maxFrameBytes } from '@berth/supervisor/tree'
import { writeFrame } from '../../line/frame.ts'
import type { UploadLender } from '../../storage/blobs/lent-upload.ts'
import type { LentContent } from '../lease-program.ts'
import { readUploadRequest } from './wire.ts'

/**
 * Lends a host uploads for the packs of its programs. A host may put what it likes under the digest of just that, and it is
 * lent nothing for a program that has ended, so a digest that it knows from elsewhere gets it no content.
 */
export class ProgramUploads {
  readonly #lender: UploadLender
  readonly #programs = new Map<string, Map<string, number>>()

  constructor(lender: UploadLender) {
    this.#lender = lender
  }

  /** Lends for a program until `end`. */
  begin(id: string): LentContent & { end(): void } {
    const lent = new Map<string, number>()
    this.#programs.set(id, lent)
    return {
      has: (sha256, sizeBytes) => lent.get(sha256) === sizeBytes,
      end: () => this.#programs.delete(id),
    }
  }

  /** Answers a host with the request that puts a pack, or with null. */
  async answer(said: unknown, stream: Duplex): Promise<void> {
    const { program, sha256, sizeBytes } = readUploadRequest(said)
    const lent = this.#programs.get(program)
    const upload = lent === undefined || sizeBytes > maxFrameBytes ? null : await this.#lender.lend(sha256)
    if (upload !== null) lent?.set(sha256, sizeBytes)
    writeFrame(stream, upload)
    stream.end()
    stream.resume()
  }
}
