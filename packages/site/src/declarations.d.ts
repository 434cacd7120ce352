// Neither package has declarations of its own.

/** The parts of Eleventy that the site uses. */
declare module '@11ty/eleventy' {
  interface Config {
    setUseGitIgnore(used: boolean): void
    setTemplateFormats(formats: readonly string[]): void
    setLibrary(engine: 'md', library: { render(text: string, data: unknown): string }): void
    addGlobalData(name: string, value: unknown): void
    addTemplate(path: string, content: unknown, data?: object): void
  }
  interface Options {
    readonly config: (config: Config) => void
    readonly configPath: null
    readonly quietMode: boolean
  }
  export class Eleventy {
    constructor(input: string, output: string, options: Options)
    disableLogger(): void
    write(): Promise<unknown>
  }
}

/** The parts of markdown-it that the site uses. */
declare module 'markdown-it' {
  interface Token {
    readonly type: string
    tag: string
    content: string
    readonly children: readonly Token[] | null
    attrGet(name: string): string | null
    attrSet(name: string, value: string): void
  }
  interface State {
    readonly tokens: readonly Token[]
    readonly env: unknown
  }
  type Rule = (...given: readonly unknown[]) => string
  interface Options {
    readonly html: boolean
    readonly highlight: (code: string, language: string) => string
  }
  export default class MarkdownIt {
    constructor(options: Options)
    readonly core: { readonly ruler: { push(name: string, rule: (state: State) => void): void } }
    readonly renderer: { readonly rules: Record<string, Rule | undefined> }
    render(text: string, env: unknown): string
  }
}
