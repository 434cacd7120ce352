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

/** An option of a command, as a row names it. */
export interface ResourceOption {
  /** As Commander reads it, such as `--name <name>`; one without a value sends true. */
  readonly flags: string
  readonly does: string
  /** Default: the member of that name in the query of a read, or in the body of a write. */
  readonly to?: Place
  readonly required?: true
  readonly choices?: readonly string[]
  readonly standard?: string
  /** A flag sends the text `true`, a list is an option that may be repeated, and JSON the content of a file; `-` is standard input. */
  readonly as?: 'budget' | 'count' | 'flag' | 'list' | 'json' | 'seconds' | 'usd'
}

/** How an answer is shown; with `--json`, a list prints one item a line, and a thing prints itself. */
export type ResourceView =
  | {
      readonly kind: 'list'
      /** Path of the items in the answer. */
      readonly items: string
      /** Heads, and the dotted path of each cell in an item; `.` is the item itself. */
      readonly columns: Readonly<Record<string, string>>
    }
  /** Shows a member of the answer; absent: the whole answer. */
  | { readonly kind: 'thing'; readonly member?: string }
  /** Prints a text, in which `{name}` stands for a member of the input. */
  | { readonly kind: 'done'; readonly text: string }
  | { readonly kind: 'bytes' }

/** A command that calls one operation, as tables have it. The rest follows from the operation. */
export interface ResourceRow {
  readonly operation: OperationId
  readonly does: string
  /** The operation in its place for a person. */
  readonly forPeople?: OperationId
  /** Arguments after the parameters of the path. */
  readonly args?: readonly ResourceArgument[]
  readonly options?: readonly ResourceOption[]
  /** The body is sent even if no option fills it. */
  readonly mayBeEmpty?: true
  /** Makes a list: heads, and the dotted path of each cell in an item; `.` is the item itself. */
  readonly columns?: Readonly<Record<string, string>>
  /** Path of the items in the answer, if it is not the operation's page. */
  readonly items?: string
  /**
   * Member of the answer that is shown; absent: the whole answer. It is named here, so that scripts read the same values
   * when an answer gets another member.
   */
  readonly member?: string
  /** Prints this word with the last parameter of the path in place of an answer, such as `removed connection c-1`. */
  readonly done?: string
  /** Lines that follow `berth` and the command's words, complete as they stand. Default: its required arguments. */
  readonly examples?: readonly string[]
}

/** A command that calls one operation of the contract. */
export interface ResourceCommand extends Pick<ResourceRow, 'operation' | 'does' | 'forPeople' | 'mayBeEmpty'> {
  /** The words of the command, such as `turns list`. */
  readonly path: string
  readonly args: readonly ResourceArgument[]
  readonly options: readonly (ResourceOption & { readonly to: Place })[]
  readonly view: ResourceView
  readonly examples: readonly string[]
}

/** A word that commands stand below. */
export interface ResourceGroup {
  readonly name: string
  readonly does: string
}
