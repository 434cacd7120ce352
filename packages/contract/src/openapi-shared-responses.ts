import type { OpenApiResponse, Reference } from './openapi-document.ts'

/** Error responses that several operations share, each stored once. */
export class SharedResponses {
  readonly #byText = new Map<string, { readonly name: string; readonly response: OpenApiResponse }>()

  /** Returns a reference to the response, and adds it as a component if it is new. */
  place(status: string, response: OpenApiResponse): Reference {
    const text = `${status} ${JSON.stringify(response)}`
    let entry = this.#byText.get(text)
    if (entry === undefined) {
      const ofStatus = [...this.#byText.values()].filter(known => known.name.startsWith(`Refusal${status}`)).length
      entry = { name: `Refusal${status}${ofStatus === 0 ? '' : `_${ofStatus + 1}`}`, response }
      this.#byText.set(text, entry)
    }
    return { $ref: `#/components/responses/${entry.name}` }
  }

  /** Returns the components by name. */
  all(): Readonly<Record<string, OpenApiResponse>> {
    return Object.fromEntries([...this.#byText.values()].map(({ name, response }) => [name, response]))
  }
}
