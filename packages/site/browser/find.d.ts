/** A section of the documentation, as `search.json` has it. */
export interface Section {
  readonly id: number
  readonly heading: string
  readonly page: string
  readonly place: string
  readonly text: string
}

declare const index: unique symbol
export interface Index {
  readonly [index]: true
}

export function indexOf(sections: readonly Section[]): Index
export function find(index: Index, text: string): readonly Section[]
