// Plain JavaScript, because the declarations of highlight.js bring those of the DOM into every file of the repository.
import highlighter from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import ini from 'highlight.js/lib/languages/ini'
import json from 'highlight.js/lib/languages/json'
import python from 'highlight.js/lib/languages/python'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import yaml from 'highlight.js/lib/languages/yaml'

const languages = { bash, ini, json, python, sql, typescript, yaml }
for (const [name, language] of Object.entries(languages)) highlighter.registerLanguage(name, language)
const aliases = { sh: 'bash', shell: 'bash', ts: 'typescript', js: 'typescript' }

export function highlighted(code, language) {
  const name = aliases[language] ?? language
  return name in languages ? highlighter.highlight(code, { language: name }).value : ''
}
