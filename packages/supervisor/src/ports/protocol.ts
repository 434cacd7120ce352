/** An order about the ports of the sandbox, the only line on a connection of its own. */
export type PortOrder =
  /** Asks on which ports programs of the sandbox listen. */
  | { readonly list: true }
  /** Asks for a connection to one of them. After `open` the stream is that connection's. */
  | { readonly dial: number }

export type PortAnswer = { readonly ports: readonly number[] } | { readonly dial: 'open' | 'refused' }
