import type { OperationId } from '@berth/client'

/** Where a value of the command line goes in an operation's input: a path parameter, or a member of query or body. */
type Place = string

/** An argument of a command, in the order of the command line. */
export interface ResourceArgument {
  /** As it stands in the help, such as `<session>` or `[path]`. */
  readonly shown: string
  readonly to: Place
  readonly does?: string
}

/** An option of a command. */
export interface ResourceOption {
  /** As Commander reads it, such as `--name <name>`; one without a value sends true. */
  readonly flags: string
  readonly does: string
  readonly to: Place
  readonly required?: true
  readonly choices?: readonly string[]
  readonly standard?: string
  /** A list is an option that may be repeated, and JSON the content of a file; `-` is standard input. */
  readonly as?: 'count' | 'list' | 'json' | 'seconds'
}

/** How an answer is shown; with `--json`, a list prints its items one a line, and a thing prints itself. */
export type ResourceView =
  | {
      readonly kind: 'list'
      /** Member of the answer that holds the items. */
      readonly items: string
      /** Heads, and the dotted path of each cell in an item; `.` is the item itself. */
      readonly columns: Readonly<Record<string, string>>
    }
  | {
      readonly kind: 'thing'
      /** Member of the answer that is shown; absent: all of it. */
      readonly member?: string
    }
  | {
      readonly kind: 'done'
      /** Said when it is done; `{name}` stands for a member of the input. */
      readonly says: string
    }
  | { readonly kind: 'bytes' }

/** A command that calls one operation of the contract. */
export interface ResourceCommand {
  /** The words of the command, such as `turns list`. */
  readonly path: string
  readonly does: string
  readonly operation: OperationId
  /** The operation in its place for a person. */
  readonly forPeople?: OperationId
  readonly args?: readonly ResourceArgument[]
  readonly options?: readonly ResourceOption[]
  /** The body is sent even if no option fills it. */
  readonly mayBeEmpty?: true
  readonly view: ResourceView
  /** Lines that follow `berth` and the command's words; the first is complete as it stands. */
  readonly examples: readonly string[]
}

/** A word that commands stand below. */
export interface ResourceGroup {
  readonly name: string
  readonly does: string
}
