import { operations } from '../seccomp/decision.ts'

/** A system call in the form that a filter sees; missing arguments are 0. */
export interface FilteredCall {
  /** The kernel's `AUDIT_ARCH_…`. */
  readonly architecture: number
  readonly number: number
  readonly arguments?: readonly bigint[]
}

const DATA_BYTES = 64

/**
 * Runs a filter's bytes like the kernel and returns its answer.
 * @throws Error for a filter that the kernel would refuse
 */
export function interpretFilter(filter: Buffer, call: FilteredCall): number {
  const data = Buffer.alloc(DATA_BYTES)
  data.writeInt32LE(call.number | 0, 0)
  data.writeUInt32LE(call.architecture, 4)
  for (const [index, value] of (call.arguments ?? []).entries()) data.writeBigUInt64LE(value, 16 + index * 8)
  let word = 0
  for (let at = 0; at + 8 <= filter.length; at += 8) {
    const constant = filter.readUInt32LE(at + 4)
    const jump = (holds: boolean) => {
      at += 8 * filter.readUInt8(at + (holds ? 2 : 3))
    }
    switch (filter.readUInt16LE(at)) {
      case operations.load:
        word = data.readUInt32LE(constant)
        break
      case operations.equal:
        jump(word === constant)
        break
      case operations.above:
        jump(word > constant)
        break
      case operations.anyBit:
        jump((word & constant) !== 0)
        break
      case operations.answer:
        return constant
      default:
        throw new Error(`unknown instruction at byte ${at}`)
    }
  }
  throw new Error('the filter ends without an answer')
}
