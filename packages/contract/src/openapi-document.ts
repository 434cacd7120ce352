import type { SchemaNode } from './openapi-schemas.ts'

/** A reference to a component. */
export interface Reference {
  readonly $ref: string
}

export interface OpenApiHeader {
  readonly description: string
  readonly schema: SchemaNode
}

export interface OpenApiParameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: string
  readonly schema: SchemaNode
}

export interface OpenApiContent {
  readonly schema?: SchemaNode
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>
}

export interface OpenApiResponse {
  readonly description: string
  readonly headers?: Readonly<Record<string, OpenApiHeader | Reference>>
  readonly content?: Readonly<Record<string, OpenApiContent>>
}

export interface OpenApiOperation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly 'x-svc-capability'?: string
  readonly 'x-svc-installation-capability'?: string
  readonly 'x-svc-principal'?: string
  /** What a person needs beside a membership. */
  readonly 'x-svc-needs'?: string
  /** Where it is served, if not at the document's own server. */
  readonly servers?: readonly { readonly url: string }[]
  readonly parameters?: readonly OpenApiParameter[]
  readonly requestBody?: {
    readonly required: true
    readonly content: Readonly<Record<string, OpenApiContent>>
  }
  readonly responses: Readonly<Record<string, OpenApiResponse | Reference>>
}

/** Operations by path and method. */
type OpenApiPaths = Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>

/** The part of OpenAPI 3.1 that this contract uses. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: {
    readonly title: string
    readonly version: string
    readonly description: string
    readonly license: { readonly name: string; readonly identifier: string }
    readonly 'x-svc-release'?: string
  }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string }[]
  readonly paths: OpenApiPaths
  readonly components: {
    readonly schemas: Readonly<Record<string, SchemaNode>>
    readonly responses: Readonly<Record<string, OpenApiResponse>>
    readonly headers: Readonly<Record<string, OpenApiHeader>>
    readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, string>>>>
  }
  /** Paths that the AI gateway serves for the clients of a provider alone. They are no second generation of this API. */
  readonly 'x-svc-dialects': Readonly<Record<'google', { readonly description: string; readonly paths: OpenApiPaths }>>
  /** The catalog of Event types: the schema of `data`, and the webhook family that pushes it. */
  readonly 'x-svc-events': Readonly<Record<string, { family: string | null; visibility: string; data: SchemaNode }>>
}
