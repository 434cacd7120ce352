/** How the JSON of a command is cut before it is printed. */
export interface Shape {
  /** Dotted names of the members to print; null: all. */
  readonly fields: readonly string[] | null
  /** A filter of jq for each value; null: none. */
  readonly filter: string | null
}
