/** Byte offsets into the kernel's `struct seccomp_data`. Arguments are 64 bits wide, low half first. */
const fields = { number: 0, architecture: 4 } as const
const ARGUMENTS_OFFSET = 16
const ARGUMENT_BYTES = 8

/**
 * A 32-bit word that a decision tests. Of an argument it is the low half: every argument that the policy tests is an
 * `int` or an `unsigned int` in the kernel, which ignores the high half too.
 */
export type Field = keyof typeof fields | { readonly argument: 0 | 1 | 2 | 3 | 4 | 5 }

/** A tree of tests on one system call. Every path through it ends in an answer to the kernel. */
export type Decision =
  | { readonly answer: number }
  | { readonly field: Field; readonly anyBitOf: number; readonly yes: Decision; readonly no: Decision }
  | { readonly field: Field; readonly above: number; readonly yes: Decision; readonly no: Decision }
  | { readonly field: Field; readonly cases: readonly Case[]; readonly otherwise: Decision }

/** The decision if the field has one of the values. */
export type Case = readonly [values: readonly number[], decision: Decision]

/** One instruction of classic BPF. Jumps count the instructions to skip. */
export interface Instruction {
  readonly code: number
  readonly jumpTrue: number
  readonly jumpFalse: number
  readonly constant: number
}

/** The operations of classic BPF that filters use. */
export const operations = { load: 0x20, equal: 0x15, above: 0x25, anyBit: 0x45, answer: 0x06 } as const

const INSTRUCTION_BYTES = 8
/** Maximum number of instructions that a conditional jump can skip. */
const MAX_JUMP = 255

/**
 * Compiles a decision to classic BPF.
 * @throws RangeError if a branch is too long for a jump
 */
export function compile(decision: Decision): readonly Instruction[] {
  if ('answer' in decision) return [{ code: operations.answer, jumpTrue: 0, jumpFalse: 0, constant: decision.answer }]
  const load = { code: operations.load, jumpTrue: 0, jumpFalse: 0, constant: offsetOf(decision.field) }
  if ('cases' in decision) return [load, ...decision.cases.flatMap(compileCase), ...compile(decision.otherwise)]
  const yes = compile(decision.yes)
  const test =
    'above' in decision
      ? jump(operations.above, decision.above, 0, yes.length)
      : jump(operations.anyBit, decision.anyBitOf, 0, yes.length)
  return [load, test, ...yes, ...compile(decision.no)]
}

/** Compiles one case. Every branch ends in an answer, so the next case still compares the loaded word. */
function compileCase([values, decision]: Case): readonly Instruction[] {
  const body = compile(decision)
  const tests = values.map((value, at) => {
    const left = values.length - at - 1
    return jump(operations.equal, value, left, left === 0 ? body.length : 0)
  })
  return tests.length === 0 ? [] : [...tests, ...body]
}

function jump(code: number, constant: number, jumpTrue: number, jumpFalse: number): Instruction {
  if (jumpTrue > MAX_JUMP || jumpFalse > MAX_JUMP) throw new RangeError('a branch is too long for a jump')
  return { code, jumpTrue, jumpFalse, constant }
}

function offsetOf(field: Field): number {
  return typeof field === 'string' ? fields[field] : ARGUMENTS_OFFSET + field.argument * ARGUMENT_BYTES
}

/** Returns the bytes of `struct sock_filter[]`, in little-endian order. */
export function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * INSTRUCTION_BYTES)
  for (const [index, { code, jumpTrue, jumpFalse, constant }] of program.entries()) {
    const at = index * INSTRUCTION_BYTES
    bytes.writeUInt16LE(code, at)
    bytes.writeUInt8(jumpTrue, at + 2)
    bytes.writeUInt8(jumpFalse, at + 3)
    bytes.writeUInt32LE(constant, at + 4)
  }
  return bytes
}
