import { loadSettings } from './src/settings/settings.ts'
const s = loadSettings({SECRET:'x'}, () => JSON.stringify({providers:[{id:'a',kind:'openai',apiKey:{env:'SECRET'},models:[{id:'m/1', price:{input:1,output:2}}]}], models:{default:'a/m/1', details:{'a/m/1':{}}}}), () => true)
console.log(JSON.stringify(s.config))
