/** How an operation of the contract is sent, and how its answer is read. */
export interface OperationRow {
  readonly method: 'GET' | 'PUT' | 'PATCH' | 'POST' | 'DELETE'
  /** A path template. */
  readonly path: string
  /** A JSON body, no body, or the response itself with its body unread. */
  readonly answer: 'json' | 'none' | 'response'
  /** Served by the account service; absent: by the API. */
  readonly origin?: 'account'
  /** True if a repeated request would do its work twice. */
  readonly once?: true
  /** Media type of a body of bytes. */
  readonly octets?: string
  readonly accept?: string
  /** The path parameter that the caller chooses. */
  readonly callerId?: string
  /** The member of the body that tells a repeated request from a new one. */
  readonly callerKey?: string
  /** The member that holds a page's items, and the query parameter that the next page is asked for by. */
  readonly page?: { readonly items: string; readonly by: 'cursor' | 'after' | 'before' }
}
