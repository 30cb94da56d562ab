<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
<context>
    <name>ActionRow</name>
    <message>
        <source>More actions</source>
        <translation>Weitere Befehle</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>Regenerate</source>
        <translation>Neu erzeugen</translation>
    </message>
    <message>
        <source>Fork</source>
        <translation>Abzweigen</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Continue from here</source>
        <translation>Von hier fortsetzen</translation>
    </message>
    <message>
        <source>Add a system prompt</source>
        <translation>Systemprompt hinzufügen</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Beantworten</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Erneut versuchen</translation>
    </message>
</context>
<context>
    <name>AdvancedPart</name>
    <message>
        <source>Advanced</source>
        <translation>Erweitert</translation>
    </message>
    <message>
        <source>Requests accepted from</source>
        <translation>Anfragen annehmen von</translation>
    </message>
    <message>
        <source>This computer</source>
        <translation>Nur dieser Computer</translation>
    </message>
    <message>
        <source>Other computers, too</source>
        <translation>Auch andere Computer</translation>
    </message>
    <message>
        <source>Every program in your network that has the key can send requests. The connection is not encrypted: others in the network may read the key, the requests and the answers.</source>
        <translation>Jedes Programm in Ihrem Netz, das den Schlüssel hat, kann Anfragen senden. Die Verbindung ist nicht verschlüsselt: Andere im Netz können den Schlüssel, die Anfragen und die Antworten mitlesen.</translation>
    </message>
    <message>
        <source>Aliases for the loaded model</source>
        <translation>Aliasnamen für das geladene Modell</translation>
    </message>
    <message>
        <source>Text to leave out of requests</source>
        <translation>Aus Anfragen wegzulassender Text</translation>
    </message>
    <message>
        <source>Apply</source>
        <translation>Anwenden</translation>
    </message>
    <message>
        <source>This cancels the requests that are being answered.</source>
        <translation>Anfragen, die gerade beantwortet werden, werden dadurch abgebrochen.</translation>
    </message>
    <message>
        <source>One per line, for programs that insist on their own model names; * stands for any text.</source>
        <translation>Einer pro Zeile, für Programme mit fest eingestellten Modellnamen; * steht für beliebigen Text.</translation>
    </message>
    <message>
        <source>Regular expressions, one on each line. Text that matches is left out of system prompts and first messages, and the model does not see it. Leave out text that changes with each request, such as a date: the text after it is then not read again.</source>
        <translation>Reguläre Ausdrücke, einer pro Zeile. Text, auf den sie passen, wird aus Systemprompts und ersten Nachrichten weggelassen; das Modell sieht ihn nicht. Lassen Sie Text weg, der sich mit jeder Anfrage ändert, zum Beispiel ein Datum: Dann wird der Text danach nicht noch einmal gelesen.</translation>
    </message>
</context>
<context>
    <name>AlternativeRow</name>
    <message>
        <source>end here</source>
        <translation>hier enden</translation>
    </message>
    <message>
        <source>{token}, {percent}</source>
        <translation>{token}, {percent}</translation>
    </message>
    <message>
        <source>{row}, chosen</source>
        <translation>{row}, gewählt</translation>
    </message>
</context>
<context>
    <name>Announcements</name>
    <message>
        <source>Answer finished</source>
        <translation>Antwort fertig</translation>
    </message>
    <message>
        <source>Answer stopped</source>
        <translation>Antwort gestoppt</translation>
    </message>
    <message>
        <source>Answer stopped at the maximum number of tokens</source>
        <translation>Antwort bei der Höchstzahl an Token beendet</translation>
    </message>
    <message>
        <source>The answer failed. {}</source>
        <translation>Die Antwort ist fehlgeschlagen. {}</translation>
    </message>
</context>
<context>
    <name>AnswerSummary</name>
    <message>
        <source>Stopped.</source>
        <translation>Gestoppt.</translation>
    </message>
    <message>
        <source>Stopped at the maximum number of tokens. Continue writes more.</source>
        <translation>Bei der Höchstzahl an Token beendet. „Fortsetzen“ schreibt weiter.</translation>
    </message>
    <message>
        <source>(empty)</source>
        <translation>(leer)</translation>
    </message>
    <message>
        <source>This answer was interrupted. The text so far is kept.</source>
        <translation>Diese Antwort wurde unterbrochen. Der bisherige Text bleibt erhalten.</translation>
    </message>
    <message>
        <source>1 token read</source>
        <translation>1 Token gelesen</translation>
    </message>
    <message>
        <source>{tokens} tokens, {kept} kept</source>
        <translation>{tokens} Token, {kept} aus dem Cache</translation>
    </message>
    <message>
        <source>{tokens} read</source>
        <translation>{tokens} gelesen</translation>
    </message>
    <message>
        <source>first word after {seconds} s</source>
        <translation>erstes Wort nach {seconds} s</translation>
    </message>
    <message>
        <source>{tokens} tokens read</source>
        <translation>{tokens} Token gelesen</translation>
    </message>
    <message>
        <source>{tokens} tokens</source>
        <translation>{tokens} Token</translation>
    </message>
    <message>
        <source>{size} memory</source>
        <translation>{size} Arbeitsspeicher</translation>
    </message>
    <message>
        <source>ended before the stop string “{stop}”</source>
        <translation>endete vor der Stoppsequenz „{stop}“</translation>
    </message>
    <message>
        <source>The prompt had {tokens} tokens. The server does not say how many of them it had kept.</source>
        <translation>Der Prompt hatte {tokens} Token. Der Server sagt nicht, wie viele davon er behalten hatte.</translation>
    </message>
    <message>
        <source>The prompt had {tokens} tokens: {kept} were in the cache, {read} were read.</source>
        <translation>Der Prompt hatte {tokens} Token: {kept} waren im Cache, {read} wurden gelesen.</translation>
    </message>
    <message>
        <source>It cost {money} at the prices of its server.</source>
        <translation>Sie hat {money} gekostet, zu den Preisen ihres Servers.</translation>
    </message>
    <message>
        <source>The answer has 1 token.</source>
        <translation>Die Antwort hat 1 Token.</translation>
    </message>
    <message>
        <source>The answer has {tokens} tokens.</source>
        <translation>Die Antwort hat {tokens} Token.</translation>
    </message>
    <message>
        <source>The first word came after {seconds} s: {queue} s in the queue, {reading} s of reading.</source>
        <translation>Das erste Wort kam nach {seconds} s: {queue} s in der Warteschlange, {reading} s Lesen des Prompts.</translation>
    </message>
    <message>
        <source>The model used up to {size} of memory, including its cache.</source>
        <translation>Das Modell brauchte mit seinem Cache bis zu {size} Arbeitsspeicher.</translation>
    </message>
    <message>
        <source>It answered a request from {program}.</source>
        <translation>Die Antwort ging an {program}.</translation>
    </message>
    <message>
        <source>Left out of the request by your rule: {rule}</source>
        <translation>Nach Ihrer Regel aus der Anfrage weggelassen: {rule}</translation>
    </message>
    <message>
        <source>Seed {seed}: the same seed and settings give the same answer.</source>
        <translation>Seed {seed}: Derselbe Seed und dieselben Einstellungen ergeben dieselbe Antwort.</translation>
    </message>
    <message>
        <source>{accepted} of {drafted} drafted tokens accepted</source>
        <translation>{accepted} von {drafted} Entwurfstoken angenommen</translation>
    </message>
    <message>
        <source>{tokens} forced</source>
        <translation>{tokens} erzwungen</translation>
    </message>
    <message>
        <source>hooks {ms} ms</source>
        <translation>Hooks {ms} ms</translation>
    </message>
    <message>
        <source>{hook} turned off: too slow</source>
        <translation>{hook} ausgeschaltet: zu langsam</translation>
    </message>
    <message>
        <source>The model did not see the oldest message: the conversation is longer than the model&apos;s context.</source>
        <translation>Das Modell hat die älteste Nachricht nicht gesehen: Das Gespräch ist länger als der Kontext des Modells.</translation>
    </message>
    <message>
        <source>The model did not see the {messages} oldest messages: the conversation is longer than the model&apos;s context.</source>
        <translation>Das Modell hat die {messages} ältesten Nachrichten nicht gesehen: Das Gespräch ist länger als der Kontext des Modells.</translation>
    </message>
</context>
<context>
    <name>AnswersPage</name>
    <message>
        <source>When a conversation is longer than the model&apos;s context</source>
        <translation>Wenn ein Gespräch länger ist als der Kontext des Modells</translation>
    </message>
    <message>
        <source>Stop with an error</source>
        <translation>Mit einer Fehlermeldung abbrechen</translation>
    </message>
    <message>
        <source>You can then shorten the message, or continue from an earlier one.</source>
        <translation>Sie können dann die Nachricht kürzen oder von einer früheren aus fortfahren.</translation>
    </message>
    <message>
        <source>Leave out the oldest messages</source>
        <translation>Die ältesten Nachrichten weglassen</translation>
    </message>
    <message>
        <source>The system prompt and your last question stay. Nothing is deleted: the model just doesn&apos;t see the oldest messages, and the answer says how many.</source>
        <translation>Der Systemprompt und Ihre letzte Frage bleiben dabei. Es wird nichts gelöscht: Das Modell sieht nur die ältesten Nachrichten nicht, und die Antwort nennt deren Anzahl.</translation>
    </message>
    <message>
        <source>Figures below an answer</source>
        <translation>Zahlen unter einer Antwort</translation>
    </message>
    <message>
        <source>One</source>
        <translation>Eine</translation>
    </message>
    <message>
        <source>Its tooltip and a click show the others.</source>
        <translation>Die anderen erscheinen im Tooltip und nach einem Klick.</translation>
    </message>
    <message>
        <source>All</source>
        <translation>Alle</translation>
    </message>
    <message>
        <source>Tokens read and kept, times, memory and the like.</source>
        <translation>Token gelesen und aus dem Cache, Zeiten, Arbeitsspeicher und dergleichen.</translation>
    </message>
    <message>
        <source>Sampling</source>
        <translation>Sampling</translation>
    </message>
    <message>
        <source>Temperature, length and stop strings belong to each conversation. Set them with the Sampling button below the message field; you can also save them there as a preset.</source>
        <translation>Temperatur, Länge und Stoppsequenzen gehören zum jeweiligen Gespräch. Stellen Sie sie mit der Schaltfläche „Sampling“ unter dem Nachrichtenfeld ein; dort lassen sie sich auch als Profil speichern.</translation>
    </message>
    <message>
        <source>The context is how much text a model can read at once, its answer included. A word is one or two tokens.</source>
        <translation>Der Kontext ist die Textmenge, die ein Modell auf einmal lesen kann, seine Antwort eingeschlossen. Ein Wort hat ein bis zwei Token.</translation>
    </message>
    <message>
        <source>The loaded model can read up to {} tokens, its answer included. A word is one or two tokens.</source>
        <translation>Das geladene Modell kann bis zu {} Token lesen, seine Antwort eingeschlossen. Ein Wort hat ein bis zwei Token.</translation>
    </message>
</context>
<context>
    <name>AttachedFiles</name>
    <message>
        <source>Attach files</source>
        <translation>Dateien anhängen</translation>
    </message>
    <message>
        <source>Attach to the message</source>
        <translation>An die Nachricht anhängen</translation>
    </message>
    <message>
        <source>Import as conversations…</source>
        <translation>Als Gespräche importieren…</translation>
    </message>
    <message>
        <source>{name} · reading…</source>
        <translation>{name} · wird gelesen…</translation>
    </message>
    <message>
        <source>{num} of {total} parts</source>
        <translation>{num} von {total} Teilen</translation>
    </message>
    <message>
        <source>1 token</source>
        <translation>1 Token</translation>
    </message>
    <message>
        <source>{num} tokens</source>
        <translation>{num} Token</translation>
    </message>
</context>
<context>
    <name>BackupsWindow</name>
    <message>
        <source>Backups</source>
        <translation>Sicherungen</translation>
    </message>
    <message>
        <source>Bough makes a backup every day and before each update, and checks it. When you restore a backup, it replaces your conversations; these are kept as another backup.</source>
        <translation>Bough erstellt und prüft jeden Tag und vor jedem Update eine Sicherung. Wenn Sie eine Sicherung wiederherstellen, ersetzt sie Ihre jetzigen Gespräche; diese bleiben als weitere Sicherung erhalten.</translation>
    </message>
    <message>
        <source>There are no backups yet. Bough makes one a day, soon after it starts, and keeps seven of them.</source>
        <translation>Es gibt noch keine Sicherungen. Bough erstellt täglich eine, kurz nach dem Start, und behält die letzten sieben.</translation>
    </message>
    <message>
        <source>Show folder</source>
        <translation>Ordner anzeigen</translation>
    </message>
    <message>
        <source>Restore…</source>
        <translation>Wiederherstellen…</translation>
    </message>
    <message>
        <source>intact</source>
        <translation>unversehrt</translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s)</source>
        <translation>
            <numerusform>%n Gespräch</numerusform>
            <numerusform>%n Gespräche</numerusform>
        </translation>
    </message>
    <message>
        <source>damaged, can&apos;t be restored</source>
        <translation>beschädigt, nicht wiederherstellbar</translation>
    </message>
    <message>
        <source>checking…</source>
        <translation>wird geprüft…</translation>
    </message>
    <message>
        <source>made before an update</source>
        <translation>vor einem Update erstellt</translation>
    </message>
    <message>
        <source>made before a restore</source>
        <translation>vor einer Wiederherstellung erstellt</translation>
    </message>
    <message>
        <source>The backups are in {folder}. The folder can&apos;t be opened here.</source>
        <translation>Die Sicherungen liegen in {folder}. Der Ordner kann hier nicht geöffnet werden.</translation>
    </message>
    <message>
        <source>Restore a backup</source>
        <translation>Sicherung wiederherstellen</translation>
    </message>
    <message>
        <source>Restore the backup from {time}?</source>
        <translation>Die Sicherung von {time} wiederherstellen?</translation>
    </message>
    <message>
        <source>Bough closes its windows and opens them again with the conversations of that time. The current conversations are kept as a backup. Answers that are still being written are stopped.</source>
        <translation>Bough schließt seine Fenster und öffnet sie wieder mit den Gesprächen von damals. Die jetzigen Gespräche bleiben als Sicherung erhalten. Antworten, die noch geschrieben werden, werden gestoppt.</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>Wiederherstellen</translation>
    </message>
</context>
<context>
    <name>Banner</name>
    <message>
        <source>Close notice</source>
        <translation>Meldung schließen</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Ask again with project</source>
        <translation>Mit Projekt erneut fragen</translation>
    </message>
    <message>
        <source>Start a chat</source>
        <translation>Chat beginnen</translation>
    </message>
    <message>
        <source>Load anyway</source>
        <translation>Trotzdem laden</translation>
    </message>
    <message>
        <source>Free memory first</source>
        <translation>Erst Arbeitsspeicher freigeben</translation>
    </message>
    <message>
        <source>Allow</source>
        <translation>Zulassen</translation>
    </message>
    <message>
        <source>Use a plain template</source>
        <translation>Einfache Vorlage verwenden</translation>
    </message>
    <message>
        <source>Ask the guide</source>
        <translation>Guide fragen</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Resume all</source>
        <translation>Alle fortsetzen</translation>
    </message>
    <message>
        <source>Restart</source>
        <translation>Neu starten</translation>
    </message>
    <message>
        <source>Open settings</source>
        <translation>Einstellungen öffnen</translation>
    </message>
    <message>
        <source>Open Models</source>
        <translation>Modelle öffnen</translation>
    </message>
    <message>
        <source>Show in folder</source>
        <translation>Im Ordner anzeigen</translation>
    </message>
    <message>
        <source>Open page</source>
        <translation>Seite öffnen</translation>
    </message>
    <message>
        <source>Show report</source>
        <translation>Bericht zeigen</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>Anzeigen</translation>
    </message>
    <message>
        <source>Backups…</source>
        <translation>Sicherungen…</translation>
    </message>
    <message>
        <source>Start without conversations</source>
        <translation>Ohne Gespräche beginnen</translation>
    </message>
    <message>
        <source>Continue editing</source>
        <translation>Weiter bearbeiten</translation>
    </message>
</context>
<context>
    <name>Chips</name>
    <message>
        <source>and {num} more</source>
        <translation>und {num} weitere</translation>
    </message>
    <message>
        <source>Remove {what}</source>
        <translation>{what} entfernen</translation>
    </message>
    <message>
        <source>Remove (Del)</source>
        <translation>Entfernen (Entf)</translation>
    </message>
    <message>
        <source>Choose parts</source>
        <translation>Teile auswählen</translation>
    </message>
</context>
<context>
    <name>CodeFrame</name>
    <message>
        <source>Scroll code horizontally</source>
        <translation>Code horizontal scrollen</translation>
    </message>
</context>
<context>
    <name>CompareCommands</name>
    <message>
        <source>The visible branch</source>
        <translation>Der sichtbare Zweig</translation>
    </message>
    <message>
        <source>The other branch</source>
        <translation>Der andere Zweig</translation>
    </message>
    <message>
        <source>Version {number} of {count}</source>
        <translation>Version {number} von {count}</translation>
    </message>
</context>
<context>
    <name>CompareWindow</name>
    <message>
        <source>Compare</source>
        <translation>Vergleichen</translation>
    </message>
    <message>
        <source>Left text</source>
        <translation>Linker Text</translation>
    </message>
    <message>
        <source>Right text</source>
        <translation>Rechter Text</translation>
    </message>
    <message>
        <source>Previous difference</source>
        <translation>Voriger Unterschied</translation>
    </message>
    <message>
        <source>Previous difference (Shift+F7)</source>
        <translation>Voriger Unterschied (Umschalt+F7)</translation>
    </message>
    <message>
        <source>Next difference</source>
        <translation>Nächster Unterschied</translation>
    </message>
    <message>
        <source>Next difference (F7)</source>
        <translation>Nächster Unterschied (F7)</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Comparing…</source>
        <translation>Wird verglichen…</translation>
    </message>
    <message>
        <source>1 difference</source>
        <translation>1 Unterschied</translation>
    </message>
    <message numerus="yes">
        <source>{count} differences</source>
        <translation>
            <numerusform>{count} Unterschied</numerusform>
            <numerusform>{count} Unterschiede</numerusform>
        </translation>
    </message>
    <message>
        <source>The words are identical; only the formatting differs.</source>
        <translation>Die Wörter sind gleich; nur die Formatierung unterscheidet sich.</translation>
    </message>
    <message>
        <source>Both texts are identical.</source>
        <translation>Beide Texte sind identisch.</translation>
    </message>
    <message>
        <source>Only the beginning of these long texts is shown and compared.</source>
        <translation>Nur der Anfang dieser langen Texte wird gezeigt und verglichen.</translation>
    </message>
    <message>
        <source>Difference {number} of {count}</source>
        <translation>Unterschied {number} von {count}</translation>
    </message>
    <message>
        <source>nothing</source>
        <translation>nichts</translation>
    </message>
    <message>
        <source>{where}: left {left}, right {right}</source>
        <translation>{where}: links {left}, rechts {right}</translation>
    </message>
</context>
<context>
    <name>Composer</name>
    <message>
        <source>Message</source>
        <translation>Nachricht</translation>
    </message>
    <message>
        <source>Attached files</source>
        <translation>Angehängte Dateien</translation>
    </message>
    <message>
        <source>Send anyway</source>
        <translation>Trotzdem senden</translation>
    </message>
    <message>
        <source>Attach files</source>
        <translation>Dateien anhängen</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>Answer format</source>
        <translation>Antwortformat</translation>
    </message>
    <message>
        <source>Sampling</source>
        <translation>Sampling</translation>
    </message>
    <message>
        <source>Sampling: {name}</source>
        <translation>Sampling: {name}</translation>
    </message>
    <message>
        <source>Stopping…</source>
        <translation>Wird gestoppt…</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Stoppen</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>Stop (Esc)</source>
        <translation>Stoppen (Esc)</translation>
    </message>
    <message>
        <source>Send (Enter; Shift+Enter for a new line)</source>
        <translation>Senden (Eingabe; Umschalt+Eingabe für eine neue Zeile)</translation>
    </message>
</context>
<context>
    <name>ComposerCommands</name>
    <message>
        <source>Sent to {hosts}</source>
        <translation>Geht an {hosts}</translation>
    </message>
    <message>
        <source>System prompt: {text}</source>
        <translation>Systemprompt: {text}</translation>
    </message>
    <message>
        <source>System prompt: none</source>
        <translation>Systemprompt: keiner</translation>
    </message>
    <message>
        <source>This conversation started without a system prompt</source>
        <translation>Dieses Gespräch begann ohne Systemprompt</translation>
    </message>
    <message>
        <source>Answer format: {name}</source>
        <translation>Antwortformat: {name}</translation>
    </message>
    <message>
        <source>This format can&apos;t be used: {problem}</source>
        <translation>Dieses Format kann nicht verwendet werden: {problem}</translation>
    </message>
    <message>
        <source>{name}: not usable</source>
        <translation>{name}: nicht verwendbar</translation>
    </message>
    <message>
        <source>{name}, changed</source>
        <translation>{name}, geändert</translation>
    </message>
    <message>
        <source>Sampling, stop strings, seed, hooks: {name}</source>
        <translation>Sampling, Stoppsequenzen, Seed, Hooks: {name}</translation>
    </message>
    <message>
        <source>{num} models</source>
        <translation>{num} Modelle</translation>
    </message>
    <message>
        <source>{num} answers</source>
        <translation>{num} Antworten</translation>
    </message>
    <message>
        <source>1 stop string</source>
        <translation>1 Stoppsequenz</translation>
    </message>
    <message>
        <source>{num} stop strings</source>
        <translation>{num} Stoppsequenzen</translation>
    </message>
    <message>
        <source>seed {seed}</source>
        <translation>Seed {seed}</translation>
    </message>
    <message>
        <source>1 hook</source>
        <translation>1 Hook</translation>
    </message>
    <message>
        <source>{num} hooks</source>
        <translation>{num} Hooks</translation>
    </message>
    <message>
        <source>thinking</source>
        <translation>mit Nachdenken</translation>
    </message>
    <message>
        <source>no thinking</source>
        <translation>ohne Nachdenken</translation>
    </message>
</context>
<context>
    <name>ContextGauge</name>
    <message>
        <source>oldest left out</source>
        <translation>älteste weggelassen</translation>
    </message>
    <message>
        <source>too long</source>
        <translation>zu lang</translation>
    </message>
    <message>
        <source>nearly full</source>
        <translation>fast voll</translation>
    </message>
    <message>
        <source>Context: {share} used</source>
        <translation>Kontext: {share} belegt</translation>
    </message>
    <message>
        <source>{used} of {limit} tokens with this message: {kept} kept, {read} to read</source>
        <translation>{used} von {limit} Token mit dieser Nachricht: {kept} im Cache, {read} zu lesen</translation>
    </message>
    <message>
        <source>, {free} free for the answer.</source>
        <translation>, {free} frei für die Antwort.</translation>
    </message>
    <message>
        <source>, {over} too many. </source>
        <translation>, {over} zu viele. </translation>
    </message>
    <message>
        <source>The oldest messages will not be sent to the model.</source>
        <translation>Die ältesten Nachrichten werden nicht an das Modell gesendet.</translation>
    </message>
    <message>
        <source>The answer would fail: shorten the message, or continue from an earlier one.</source>
        <translation>Die Antwort würde fehlschlagen: Kürzen Sie die Nachricht, oder fahren Sie von einer früheren aus fort.</translation>
    </message>
</context>
<context>
    <name>Controller</name>
    <message>
        <source>{name} (fork)</source>
        <translation>{name} (Abzweigung)</translation>
    </message>
</context>
<context>
    <name>ConversationCommands</name>
    <message>
        <source>Open in a new window</source>
        <translation>In neuem Fenster öffnen</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>Umbenennen</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>Angeheftet</translation>
    </message>
    <message>
        <source>Move to project</source>
        <translation>In Projekt verschieben</translation>
    </message>
    <message>
        <source>Archived</source>
        <translation>Archiviert</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>New conversation here</source>
        <translation>Neues Gespräch hier</translation>
    </message>
    <message>
        <source>Project…</source>
        <translation>Projekt…</translation>
    </message>
    <message>
        <source>Rename…</source>
        <translation>Umbenennen…</translation>
    </message>
    <message>
        <source>Move all conversations out</source>
        <translation>Alle Gespräche herausnehmen</translation>
    </message>
    <message>
        <source>Delete project</source>
        <translation>Projekt löschen</translation>
    </message>
    <message>
        <source>New project…</source>
        <translation>Neues Projekt…</translation>
    </message>
    <message>
        <source>No project</source>
        <translation>Kein Projekt</translation>
    </message>
    <message>
        <source>Your data is in {}. The folder can&apos;t be opened here.</source>
        <translation>Ihre Daten liegen in {}. Der Ordner kann hier nicht geöffnet werden.</translation>
    </message>
</context>
<context>
    <name>ConversationList</name>
    <message>
        <source>Conversations</source>
        <translation>Gespräche</translation>
    </message>
</context>
<context>
    <name>ConversationModel</name>
    <message>
        <source>{name} · answering</source>
        <translation>{name} · antwortet</translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>Gespräche</translation>
    </message>
</context>
<context>
    <name>CopyButton</name>
    <message>
        <source>Copy code in {language}</source>
        <translation>Code in {language} kopieren</translation>
    </message>
    <message>
        <source>Copy code</source>
        <translation>Code kopieren</translation>
    </message>
    <message>
        <source>Copy this code</source>
        <translation>Diesen Code kopieren</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>Kopiert</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
</context>
<context>
    <name>CostWords</name>
    <message>
        <source>Cost not known yet</source>
        <translation>Kosten noch nicht bekannt</translation>
    </message>
    <message>
        <source>The model is not loaded; it is loaded when you ask</source>
        <translation>Das Modell ist nicht geladen; es wird geladen, sobald Sie fragen</translation>
    </message>
    <message>
        <source>Kept there, as last reported: {kept} of {total}</source>
        <translation>Dort behalten, zuletzt gemeldet: {kept} von {total}</translation>
    </message>
    <message>
        <source>{count} kept</source>
        <translation>{count} im Cache</translation>
    </message>
    <message>
        <source>nothing to read</source>
        <translation>nichts zu lesen</translation>
    </message>
    <message>
        <source>would read {count} tokens</source>
        <translation>{count} Token wären zu lesen</translation>
    </message>
    <message>
        <source>kept in memory</source>
        <translation>im Arbeitsspeicher</translation>
    </message>
    <message>
        <source>kept on disk</source>
        <translation>auf dem Datenträger</translation>
    </message>
    <message>
        <source>not kept</source>
        <translation>nicht im Cache</translation>
    </message>
    <message>
        <source>1 token/s</source>
        <translation>1 Token/s</translation>
    </message>
    <message>
        <source>{number} tokens/s</source>
        <translation>{number} Token/s</translation>
    </message>
    <message>
        <source>instantly</source>
        <translation>sofort</translation>
    </message>
    <message>
        <source>about {seconds} s</source>
        <translation>etwa {seconds} s</translation>
    </message>
    <message>
        <source>about {minutes} min</source>
        <translation>etwa {minutes} min</translation>
    </message>
    <message>
        <source>about {money}</source>
        <translation>etwa {money}</translation>
    </message>
</context>
<context>
    <name>DataPage</name>
    <message>
        <source>Import and export</source>
        <translation>Import und Export</translation>
    </message>
    <message>
        <source>Import conversations from other programs, or export them as files that other programs can read.</source>
        <translation>Importieren Sie Gespräche aus anderen Programmen, oder exportieren Sie sie als Dateien, die andere Programme lesen können.</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>Export the settings, presets and hooks as one file.</source>
        <translation>Einstellungen, Profile und Hooks als eine Datei exportieren.</translation>
    </message>
    <message>
        <source>Another computer</source>
        <translation>Ein anderer Computer</translation>
    </message>
    <message>
        <source>Conversations, projects, settings, presets and hooks as one file. Models and keys stay here.</source>
        <translation>Gespräche, Projekte, Einstellungen, Profile und Hooks als eine Datei. Modelle und Schlüssel bleiben hier.</translation>
    </message>
    <message>
        <source>Backups and trash</source>
        <translation>Sicherungen und Papierkorb</translation>
    </message>
    <message>
        <source>Bough makes a backup once a day. Deleted conversations stay in the trash for 30 days.</source>
        <translation>Bough erstellt täglich eine Sicherung. Gelöschte Gespräche bleiben 30 Tage im Papierkorb.</translation>
    </message>
    <message>
        <source>Data folder</source>
        <translation>Datenordner</translation>
    </message>
    <message>
        <source>Everything you write stays on this computer, in one folder.</source>
        <translation>Alles, was Sie schreiben, bleibt auf diesem Computer, in einem Ordner.</translation>
    </message>
</context>
<context>
    <name>DialogCommands</name>
    <message>
        <source>“{project}” has no conversations to export yet.</source>
        <translation>In „{project}“ gibt es noch keine Gespräche zum Exportieren.</translation>
    </message>
    <message>
        <source>There is nothing to export yet.</source>
        <translation>Es gibt noch nichts zu exportieren.</translation>
    </message>
    <message numerus="yes">
        <source>%n message(s)</source>
        <translation>
            <numerusform>%n Nachricht</numerusform>
            <numerusform>%n Nachrichten</numerusform>
        </translation>
    </message>
    <message>
        <source>This branch</source>
        <translation>Dieser Zweig</translation>
    </message>
    <message>
        <source>The selected messages</source>
        <translation>Die ausgewählten Nachrichten</translation>
    </message>
    <message>
        <source>This message</source>
        <translation>Diese Nachricht</translation>
    </message>
    <message>
        <source>The whole tree</source>
        <translation>Der ganze Baum</translation>
    </message>
    <message>
        <source>All branches</source>
        <translation>Alle Zweige</translation>
    </message>
    <message>
        <source>This project</source>
        <translation>Dieses Projekt</translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s) in “{folder}”</source>
        <translation>
            <numerusform>%n Gespräch in „{folder}“</numerusform>
            <numerusform>%n Gespräche in „{folder}“</numerusform>
        </translation>
    </message>
    <message>
        <source>Everything</source>
        <translation>Alles</translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s), with all branches</source>
        <translation>
            <numerusform>%n Gespräch, mit allen Zweigen</numerusform>
            <numerusform>%n Gespräche, mit allen Zweigen</numerusform>
        </translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>Gespräche</translation>
    </message>
    <message>
        <source>Exported {num} files to {path}.</source>
        <translation>{num} Dateien nach {path} exportiert.</translation>
    </message>
    <message>
        <source>Exported to {path}.</source>
        <translation>Nach {path} exportiert.</translation>
    </message>
    <message>
        <source>Import</source>
        <translation>Importieren</translation>
    </message>
    <message>
        <source>Conversations ({})</source>
        <translation>Gespräche ({})</translation>
    </message>
    <message>
        <source>Imported {conversations} with {messages}.</source>
        <translation>{conversations} mit {messages} importiert.</translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s)</source>
        <translation>
            <numerusform>%n Gespräch</numerusform>
            <numerusform>%n Gespräche</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s) updated from the file.</source>
        <translation>
            <numerusform>%n Gespräch aus der Datei aktualisiert.</numerusform>
            <numerusform>%n Gespräche aus der Datei aktualisiert.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n could not be imported.</source>
        <translation>
            <numerusform>%n konnte nicht importiert werden.</numerusform>
            <numerusform>%n konnten nicht importiert werden.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Dialogs</name>
    <message>
        <source>Rename conversation</source>
        <translation>Gespräch umbenennen</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>Name branch</source>
        <translation>Zweig benennen</translation>
    </message>
    <message>
        <source>Name (leave empty for none)</source>
        <translation>Name (leer lassen für keinen)</translation>
    </message>
    <message>
        <source>Import settings</source>
        <translation>Einstellungen importieren</translation>
    </message>
    <message>
        <source>A hook is a program that runs with your permissions once you turn it on. Import only hooks you trust.</source>
        <translation>Ein Hook ist ein Programm, das mit Ihren Rechten läuft, sobald Sie ihn einschalten. Importieren Sie nur Hooks, denen Sie vertrauen.</translation>
    </message>
    <message>
        <source>Without hooks</source>
        <translation>Ohne Hooks</translation>
    </message>
    <message>
        <source>With hooks</source>
        <translation>Mit Hooks</translation>
    </message>
    <message>
        <source>Open a model folder</source>
        <translation>Modellordner öffnen</translation>
    </message>
    <message>
        <source>Choose a draft model (a smaller model of the same family)</source>
        <translation>Entwurfsmodell wählen (ein kleineres Modell derselben Familie)</translation>
    </message>
    <message>
        <source>Empty trash</source>
        <translation>Papierkorb leeren</translation>
    </message>
    <message>
        <source>Permanently delete everything in the trash?</source>
        <translation>Alles im Papierkorb endgültig löschen?</translation>
    </message>
    <message>
        <source>This removes the text from your conversations, their backups and the cache. Messages that are also part of other conversations are kept.</source>
        <translation>Der Text wird aus Ihren Gesprächen, deren Sicherungen und dem Cache entfernt. Nachrichten, die auch zu anderen Gesprächen gehören, bleiben erhalten.</translation>
    </message>
    <message>
        <source>Delete permanently</source>
        <translation>Endgültig löschen</translation>
    </message>
    <message>
        <source>A model is not finished yet. Close Bough?</source>
        <translation>Ein Modell ist noch nicht fertig. Bough schließen?</translation>
    </message>
    <message>
        <source>The finished part is kept. To continue, start Bough again and choose Resume in the Models window.</source>
        <translation>Der fertige Teil bleibt erhalten. Um fortzufahren, starten Sie Bough wieder, und wählen Sie im Fenster „Modelle“ „Fortsetzen“.</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Close Bough</source>
        <translation>Bough schließen</translation>
    </message>
    <message>
        <source>This conversation has stayed on this computer. Send it to {host}?</source>
        <translation>Dieses Gespräch ist bisher auf diesem Computer geblieben. An {host} senden?</translation>
    </message>
    <message>
        <source>Free software under the MIT licence. Nothing you write leaves this computer, unless you add a server.</source>
        <translation>Freie Software unter der MIT-Lizenz. Nichts, was Sie schreiben, verlässt diesen Computer, es sei denn, Sie fügen einen Server hinzu.</translation>
    </message>
    <message>
        <source>Licences</source>
        <translation>Lizenzen</translation>
    </message>
    <message>
        <source>Qt and PySide6 are used under the LGPL 3. Their libraries are separate files, which you may replace.</source>
        <translation>Qt und PySide6 werden unter der LGPL 3 genutzt. Ihre Bibliotheken sind eigene Dateien, die Sie ersetzen dürfen.</translation>
    </message>
    <message>
        <source>Some text is not saved. Close Bough and lose it?</source>
        <translation>Ein Teil des Textes ist nicht gespeichert. Bough schließen und diesen Text verwerfen?</translation>
    </message>
    <message>
        <source>Project</source>
        <translation>Projekt</translation>
    </message>
    <message>
        <source>Name (leave empty for no project)</source>
        <translation>Name (leer lassen für kein Projekt)</translation>
    </message>
    <message>
        <source>The file contains hooks: {names}</source>
        <translation>Die Datei enthält Hooks: {names}</translation>
    </message>
    <message>
        <source>Your conversations can&apos;t be saved now. Free some disk space; Bough then saves the text.</source>
        <translation>Ihre Gespräche können gerade nicht gespeichert werden. Schaffen Sie Platz auf dem Datenträger; Bough speichert den Text dann von selbst.</translation>
    </message>
    <message>
        <source>Close and lose it</source>
        <translation>Schließen und verwerfen</translation>
    </message>
    <message>
        <source>Keep open</source>
        <translation>Geöffnet lassen</translation>
    </message>
    <message>
        <source>Send to a server</source>
        <translation>An einen Server senden</translation>
    </message>
    <message>
        <source>The whole branch above the answer is sent: messages, files and the system prompt.</source>
        <translation>Gesendet wird der ganze Zweig oberhalb der Antwort: Nachrichten, Dateien und der Systemprompt.</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>Don&apos;t send</source>
        <translation>Nicht senden</translation>
    </message>
    <message>
        <source>About Bough</source>
        <translation>Über Bough</translation>
    </message>
    <message>
        <source>Bough is a chat program for local models in which a conversation is a tree.</source>
        <translation>Bough ist ein Chatprogramm für lokale Modelle, in dem jedes Gespräch ein Baum ist.</translation>
    </message>
</context>
<context>
    <name>DockCommands</name>
    <message>
        <source>Go there</source>
        <translation>Dorthin gehen</translation>
    </message>
    <message>
        <source>Enter</source>
        <translation>Eingabe</translation>
    </message>
    <message>
        <source>Compare with the visible branch</source>
        <translation>Mit dem sichtbaren Zweig vergleichen</translation>
    </message>
</context>
<context>
    <name>DocsWindow</name>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
</context>
<context>
    <name>DownloadOffer</name>
    <message>
        <source>Stop</source>
        <translation>Stoppen</translation>
    </message>
    <message>
        <source>Download {model}</source>
        <translation>{model} herunterladen</translation>
    </message>
    <message>
        <source>A small real model, to chat about anything:</source>
        <translation>Ein kleines echtes Modell, um über alles zu chatten:</translation>
    </message>
    <message>
        <source>The best model that fits this computer:</source>
        <translation>Das beste Modell, das auf diesen Computer passt:</translation>
    </message>
    <message>
        <source>Downloading {model}…</source>
        <translation>{model} wird heruntergeladen…</translation>
    </message>
    <message>
        <source>Downloading {model}: {percent} %</source>
        <translation>{model} wird heruntergeladen: {percent} %</translation>
    </message>
</context>
<context>
    <name>DraftModelCard</name>
    <message>
        <source>Draft model</source>
        <translation>Entwurfsmodell</translation>
    </message>
    <message>
        <source>Choose folder…</source>
        <translation>Ordner wählen…</translation>
    </message>
    <message>
        <source>Choose a draft model folder</source>
        <translation>Ordner eines Entwurfsmodells wählen</translation>
    </message>
    <message>
        <source>A smaller model of the same family that predicts the next tokens. Correct predictions make answers faster, and the answers stay the same. It needs extra memory.</source>
        <translation>Ein kleineres Modell derselben Familie, das die nächsten Token vorhersagt. Richtige Vorhersagen machen Antworten schneller; die Antworten bleiben gleich. Es braucht zusätzlichen Arbeitsspeicher.</translation>
    </message>
    <message>
        <source>The guide needs no draft model: it is fast enough.</source>
        <translation>Der Guide braucht kein Entwurfsmodell: Er ist schnell genug.</translation>
    </message>
    <message>
        <source>For {model}.</source>
        <translation>Für {model}.</translation>
    </message>
    <message>
        <source>For {model} (none yet).</source>
        <translation>Für {model} (noch keines).</translation>
    </message>
    <message>
        <source>Loading {model}…</source>
        <translation>{model} wird geladen…</translation>
    </message>
    <message>
        <source>No model is loaded.</source>
        <translation>Es ist kein Modell geladen.</translation>
    </message>
    <message>
        <source>None</source>
        <translation>Keines</translation>
    </message>
</context>
<context>
    <name>DraftModels</name>
    <message>
        <source>missing</source>
        <translation>fehlt</translation>
    </message>
    <message>
        <source>different vocabulary from {model}</source>
        <translation>anderes Vokabular als {model}</translation>
    </message>
</context>
<context>
    <name>DropPage</name>
    <message numerus="yes">
        <source>Drop to open %n model(s)</source>
        <translation>
            <numerusform>Hier ablegen, um %n Modell zu öffnen</numerusform>
            <numerusform>Hier ablegen, um %n Modelle zu öffnen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Drop to import %n file(s)</source>
        <translation>
            <numerusform>Hier ablegen, um %n Datei zu importieren</numerusform>
            <numerusform>Hier ablegen, um %n Dateien zu importieren</numerusform>
        </translation>
    </message>
    <message>
        <source>You see the contents first. Nothing is imported until you confirm.</source>
        <translation>Sie sehen zuerst den Inhalt. Es wird nichts importiert, bevor Sie zustimmen.</translation>
    </message>
    <message>
        <source>To attach them to a message, drop them on the message field.</source>
        <translation>Um sie an eine Nachricht anzuhängen, legen Sie sie auf dem Nachrichtenfeld ab.</translation>
    </message>
    <message>
        <source>Not imported: {names}</source>
        <translation>Nicht importiert: {names}</translation>
    </message>
    <message numerus="yes">
        <source>Drop to attach %n file(s)</source>
        <translation>
            <numerusform>Hier ablegen, um %n Datei anzuhängen</numerusform>
            <numerusform>Hier ablegen, um %n Dateien anzuhängen</numerusform>
        </translation>
    </message>
    <message>
        <source>With your next message: {names}</source>
        <translation>Mit Ihrer nächsten Nachricht: {names}</translation>
    </message>
</context>
<context>
    <name>EndpointWindow</name>
    <message>
        <source>Add an endpoint</source>
        <translation>Endpunkt hinzufügen</translation>
    </message>
    <message>
        <source>Edit endpoint</source>
        <translation>Endpunkt ändern</translation>
    </message>
    <message>
        <source>none, or $OPENAI_API_KEY</source>
        <translation>keiner, oder $OPENAI_API_KEY</translation>
    </message>
    <message>
        <source>unchanged</source>
        <translation>unverändert</translation>
    </message>
    <message>
        <source>Remove the key</source>
        <translation>Schlüssel entfernen</translation>
    </message>
    <message>
        <source>Help</source>
        <translation>Hilfe</translation>
    </message>
    <message>
        <source>prompt</source>
        <translation>Prompt</translation>
    </message>
    <message>
        <source>kept</source>
        <translation>Cache</translation>
    </message>
    <message>
        <source>answer</source>
        <translation>Antwort</translation>
    </message>
    <message>
        <source>€</source>
        <translation>€</translation>
    </message>
    <message>
        <source>Currency</source>
        <translation>Währung</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>Adresse</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>Schlüssel</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>the address&apos;s host</source>
        <translation>der Host der Adresse</translation>
    </message>
    <message>
        <source>Add</source>
        <translation>Hinzufügen</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Speichern</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Esc</source>
        <translation>Esc</translation>
    </message>
    <message>
        <source>Price per million prompt tokens</source>
        <translation>Preis pro Million Token des Prompts</translation>
    </message>
    <message>
        <source>Price per million prompt tokens that the server kept from earlier requests</source>
        <translation>Preis pro Million Token des Prompts, die der Server aus früheren Anfragen behalten hatte</translation>
    </message>
    <message>
        <source>Price per million answer tokens</source>
        <translation>Preis pro Million Token der Antwort</translation>
    </message>
    <message>
        <source>A server with OpenAI&apos;s API: vLLM, SGLang, llama.cpp, mlx-lm, LM Studio, a company&apos;s gateway, or Bough on another computer. Conversations with its models are sent to it.</source>
        <translation>Ein Server mit der API von OpenAI: vLLM, SGLang, llama.cpp, mlx-lm, LM Studio, das Gateway einer Firma oder Bough auf einem anderen Computer. Gespräche mit seinen Modellen werden an ihn gesendet.</translation>
    </message>
    <message>
        <source>Prices</source>
        <translation>Preise</translation>
    </message>
    <message>
        <source>The key is kept in this system&apos;s keyring. A name such as $OPENAI_API_KEY means the environment variable. Prices are per million tokens: prompt tokens, prompt tokens that the server kept from earlier requests, and answer tokens; then the currency. Without prices, no costs are shown.</source>
        <translation>Der Schlüssel liegt im Schlüsselbund dieses Systems. Ein Name wie $OPENAI_API_KEY bedeutet die Umgebungsvariable. Preise gelten pro Million Token: Token des Prompts, Token des Prompts, die der Server aus früheren Anfragen behalten hatte, und Token der Antwort; dann die Währung. Ohne Preise werden keine Kosten angezeigt.</translation>
    </message>
    <message>
        <source>Models of servers</source>
        <translation>Modelle von Servern</translation>
    </message>
    <message>
        <source>Asking the server…</source>
        <translation>Der Server wird gefragt…</translation>
    </message>
</context>
<context>
    <name>Export</name>
    <message>
        <source>Markdown</source>
        <translation>Markdown</translation>
    </message>
    <message>
        <source>Web page</source>
        <translation>Webseite</translation>
    </message>
    <message>
        <source>A single file for any browser, with a tree and branches to switch between.</source>
        <translation>Eine einzige Datei für jeden Browser, mit gezeichnetem Baum und Zweigen zum Umschalten.</translation>
    </message>
    <message>
        <source>PDF</source>
        <translation>PDF</translation>
    </message>
    <message>
        <source>Plain text</source>
        <translation>Nur Text</translation>
    </message>
    <message>
        <source>Word document</source>
        <translation>Word-Dokument</translation>
    </message>
    <message>
        <source>OpenAI JSON Lines</source>
        <translation>OpenAI JSON Lines</translation>
    </message>
    <message>
        <source>ShareGPT JSON Lines</source>
        <translation>ShareGPT JSON Lines</translation>
    </message>
    <message>
        <source>Preference pairs</source>
        <translation>Präferenzpaare</translation>
    </message>
    <message>
        <source>Folder for mlx-lm</source>
        <translation>Ordner für mlx-lm</translation>
    </message>
    <message>
        <source>For fine-tuning: train.jsonl, and every tenth conversation in valid.jsonl.</source>
        <translation>Für das Fine-Tuning: train.jsonl, und jedes zehnte Gespräch in valid.jsonl.</translation>
    </message>
    <message>
        <source>Folder for TRL</source>
        <translation>Ordner für TRL</translation>
    </message>
    <message>
        <source>Folder for Axolotl</source>
        <translation>Ordner für Axolotl</translation>
    </message>
    <message>
        <source>Bough</source>
        <translation>Bough</translation>
    </message>
    <message>
        <source>Each line: a branch</source>
        <translation>Jede Zeile: ein Zweig</translation>
    </message>
    <message>
        <source>Each line: a prompt and its answer as two fields</source>
        <translation>Jede Zeile: Prompt und Antwort in zwei Feldern</translation>
    </message>
    <message>
        <source>Each line: the shown answer and another version</source>
        <translation>Jede Zeile: zwei Antworten im Vergleich</translation>
    </message>
    <message>
        <source>Text with headings that Bough can import again.</source>
        <translation>Text mit Überschriften; Bough kann ihn wieder importieren.</translation>
    </message>
    <message>
        <source>Numbered pages with an outline of the messages.</source>
        <translation>Nummerierte Seiten mit einer Gliederung der Nachrichten.</translation>
    </message>
    <message>
        <source>Just the text, unchanged.</source>
        <translation>Nur der Text, unverändert.</translation>
    </message>
    <message>
        <source>For word processors; formulas become pictures.</source>
        <translation>Für Textverarbeitungen; Formeln werden zu Bildern.</translation>
    </message>
    <message>
        <source>For fine-tuning: one line per branch.</source>
        <translation>Für Fine-Tuning: eine Zeile pro Zweig.</translation>
    </message>
    <message>
        <source>For fine-tuning: a format that many tools read.</source>
        <translation>Für Fine-Tuning: ein Format, das viele Programme lesen.</translation>
    </message>
    <message>
        <source>For fine-tuning: the shown answer paired with each other version.</source>
        <translation>Für Fine-Tuning: die gezeigte Antwort, gepaart mit jeder anderen Version.</translation>
    </message>
    <message>
        <source>Everything, for importing into Bough again.</source>
        <translation>Alles, für den erneuten Import in Bough.</translation>
    </message>
</context>
<context>
    <name>ExportPreview</name>
    <message>
        <source>Preview: the beginning of the file</source>
        <translation>Vorschau: der Anfang der Datei</translation>
    </message>
    <message>
        <source>Preview: the first page</source>
        <translation>Vorschau: die erste Seite</translation>
    </message>
    <message>
        <source>This is the whole file.</source>
        <translation>Das ist die ganze Datei.</translation>
    </message>
    <message>
        <source>Only the first page is shown.</source>
        <translation>Nur die erste Seite wird gezeigt.</translation>
    </message>
    <message>
        <source>Only the beginning is shown.</source>
        <translation>Nur der Anfang wird gezeigt.</translation>
    </message>
</context>
<context>
    <name>ExportWindow</name>
    <message>
        <source>Export</source>
        <translation>Exportieren</translation>
    </message>
    <message>
        <source>Content</source>
        <translation>Inhalt</translation>
    </message>
    <message>
        <source>Format</source>
        <translation>Format</translation>
    </message>
    <message>
        <source>Reasoning</source>
        <translation>Nachdenken</translation>
    </message>
    <message>
        <source>The models&apos; reasoning before their answers</source>
        <translation>Das Nachdenken der Modelle vor ihren Antworten</translation>
    </message>
    <message>
        <source>System prompts</source>
        <translation>Systemprompts</translation>
    </message>
    <message>
        <source>Statistics for each answer</source>
        <translation>Statistik zu jeder Antwort</translation>
    </message>
    <message>
        <source>Page colours</source>
        <translation>Seitenfarben</translation>
    </message>
    <message>
        <source>Same as the reader&apos;s system</source>
        <translation>Wie im System der Lesenden</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Hell</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Dunkel</translation>
    </message>
    <message>
        <source>Lines</source>
        <translation>Zeilen</translation>
    </message>
    <message>
        <source>File name</source>
        <translation>Dateiname</translation>
    </message>
    <message>
        <source>Choose folder…</source>
        <translation>Ordner wählen…</translation>
    </message>
    <message>
        <source>Include</source>
        <translation>Enthalten</translation>
    </message>
    <message>
        <source>Save to</source>
        <translation>Speichern in</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Esc</source>
        <translation>Esc</translation>
    </message>
    <message>
        <source>a folder</source>
        <translation>ein Ordner</translation>
    </message>
    <message>
        <source>in {folder}</source>
        <translation>in {folder}</translation>
    </message>
    <message>
        <source>This folder exists. Its train.jsonl and valid.jsonl will be replaced.</source>
        <translation>Dieser Ordner existiert schon. Seine Dateien train.jsonl und valid.jsonl werden ersetzt.</translation>
    </message>
    <message>
        <source>This folder exists. The files are added to it.</source>
        <translation>Dieser Ordner existiert schon. Die Dateien werden darin hinzugefügt.</translation>
    </message>
    <message>
        <source>A file with this name exists. It will be replaced.</source>
        <translation>Eine Datei mit diesem Namen existiert schon. Sie wird ersetzt.</translation>
    </message>
    <message>
        <source>Export to</source>
        <translation>Exportieren nach</translation>
    </message>
    <message>
        <source>Exporting…</source>
        <translation>Wird exportiert…</translation>
    </message>
    <message>
        <source>{done} of {total} messages</source>
        <translation>{done} von {total} Nachrichten</translation>
    </message>
    <message>
        <source>{done} of {total} conversations</source>
        <translation>{done} von {total} Gesprächen</translation>
    </message>
    <message>
        <source>Cancelled. Nothing was exported.</source>
        <translation>Abgebrochen. Es wurde nichts exportiert.</translation>
    </message>
</context>
<context>
    <name>Facts</name>
    <message>
        <source>Size</source>
        <translation>Größe</translation>
    </message>
    <message>
        <source>Parameters</source>
        <translation>Parameter</translation>
    </message>
    <message>
        <source>Precision</source>
        <translation>Genauigkeit</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>Kontext</translation>
    </message>
    <message>
        <source>{count} tokens</source>
        <translation>{count} Token</translation>
    </message>
    <message>
        <source>Measured speed</source>
        <translation>Gemessenes Tempo</translation>
    </message>
    <message>
        <source>Licence</source>
        <translation>Lizenz</translation>
    </message>
    <message>
        <source>Architecture</source>
        <translation>Architektur</translation>
    </message>
    <message>
        <source>Found in</source>
        <translation>Gefunden in</translation>
    </message>
    <message>
        <source>Runs on</source>
        <translation>Läuft auf</translation>
    </message>
    <message>
        <source>Repository</source>
        <translation>Repository</translation>
    </message>
    <message>
        <source>Downloads</source>
        <translation>Downloads</translation>
    </message>
    <message>
        <source>Updated</source>
        <translation>Aktualisiert</translation>
    </message>
    <message>
        <source>{number} in the last month</source>
        <translation>{number} im letzten Monat</translation>
    </message>
</context>
<context>
    <name>FigureButton</name>
    <message>
        <source>About this answer</source>
        <translation>Infos zu dieser Antwort</translation>
    </message>
</context>
<context>
    <name>FindBar</name>
    <message>
        <source>Find in conversation</source>
        <translation>Im Gespräch suchen</translation>
    </message>
    <message>
        <source>Previous hit</source>
        <translation>Voriger Treffer</translation>
    </message>
    <message>
        <source>Next hit</source>
        <translation>Nächster Treffer</translation>
    </message>
    <message>
        <source>Go to the next hit on another branch</source>
        <translation>Zum nächsten Treffer in einem anderen Zweig</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>{number} of {num}</source>
        <translation>{number} von {num}</translation>
    </message>
    <message>
        <source>Not found here</source>
        <translation>Hier nicht gefunden</translation>
    </message>
    <message>
        <source>Not found</source>
        <translation>Nicht gefunden</translation>
    </message>
    <message numerus="yes">
        <source>%n on other branches</source>
        <translation>
            <numerusform>%n in anderen Zweigen</numerusform>
            <numerusform>%n in anderen Zweigen</numerusform>
        </translation>
    </message>
    <message>
        <source>1 on another branch</source>
        <translation>1 in einem anderen Zweig</translation>
    </message>
</context>
<context>
    <name>Folded</name>
    <message numerus="yes">
        <source>… and %n more</source>
        <translation>
            <numerusform>… und %n weiteres</numerusform>
            <numerusform>… und %n weitere</numerusform>
        </translation>
    </message>
    <message>
        <source>Collapse</source>
        <translation>Einklappen</translation>
    </message>
    <message>
        <source>Show details</source>
        <translation>Details anzeigen</translation>
    </message>
</context>
<context>
    <name>FormatPopover</name>
    <message>
        <source>Answer format</source>
        <translation>Antwortformat</translation>
    </message>
    <message>
        <source>Examples</source>
        <translation>Beispiele</translation>
    </message>
    <message>
        <source>Start with an example</source>
        <translation>Mit einem Beispiel beginnen</translation>
    </message>
    <message>
        <source>Enter a format. Until then, answers are free text.</source>
        <translation>Geben Sie ein Format ein. Bis dahin sind Antworten Freitext.</translation>
    </message>
    <message>
        <source>Checking…</source>
        <translation>Wird geprüft…</translation>
    </message>
    <message>
        <source>✓ Valid</source>
        <translation>✓ Gültig</translation>
    </message>
    <message>
        <source>Free text</source>
        <translation>Freitext</translation>
    </message>
    <message>
        <source>JSON schema</source>
        <translation>JSON</translation>
    </message>
    <message>
        <source>Regex</source>
        <translation>Regex</translation>
    </message>
    <message>
        <source>Choices</source>
        <translation>Auswahl</translation>
    </message>
    <message>
        <source>Grammar</source>
        <translation>Grammatik</translation>
    </message>
    <message>
        <source>The model answers freely. Every other format is enforced token by token.</source>
        <translation>Das Modell antwortet frei. Alle anderen Formate werden Token für Token erzwungen.</translation>
    </message>
    <message>
        <source>The answer is JSON that matches this schema.</source>
        <translation>Die Antwort ist JSON, das diesem Schema entspricht.</translation>
    </message>
    <message>
        <source>The whole answer matches this regular expression.</source>
        <translation>Die ganze Antwort entspricht diesem regulären Ausdruck.</translation>
    </message>
    <message>
        <source>The answer is exactly one of these lines.</source>
        <translation>Die Antwort ist genau eine dieser Zeilen.</translation>
    </message>
    <message>
        <source>The answer matches the rule “start” of this grammar (Lark syntax).</source>
        <translation>Die Antwort entspricht der Regel „start“ dieser Grammatik (Lark-Syntax).</translation>
    </message>
    <message>
        <source>A person</source>
        <translation>Eine Person</translation>
    </message>
    <message>
        <source>A date</source>
        <translation>Ein Datum</translation>
    </message>
    <message>
        <source>Yes or no</source>
        <translation>Ja oder nein</translation>
    </message>
    <message>
        <source>A sum</source>
        <translation>Eine Rechnung</translation>
    </message>
    <message>
        <source>A short list</source>
        <translation>Eine kurze Liste</translation>
    </message>
    <message>
        <source>A number from 1 to 10</source>
        <translation>Eine Zahl von 1 bis 10</translation>
    </message>
    <message>
        <source>A mood</source>
        <translation>Eine Stimmung</translation>
    </message>
    <message>
        <source>Three lines</source>
        <translation>Drei Zeilen</translation>
    </message>
    <message>
        <source>Reasons and a verdict</source>
        <translation>Gründe und ein Urteil</translation>
    </message>
    <message>
        <source>Three capitals</source>
        <translation>Drei Hauptstädte</translation>
    </message>
</context>
<context>
    <name>GeneralPage</name>
    <message>
        <source>Language</source>
        <translation>Sprache</translation>
    </message>
    <message>
        <source>System</source>
        <translation>System</translation>
    </message>
    <message>
        <source>Theme</source>
        <translation>Farbschema</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Hell</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Dunkel</translation>
    </message>
    <message>
        <source>Text size</source>
        <translation>Schriftgröße</translation>
    </message>
    <message>
        <source>Motion</source>
        <translation>Bewegung</translation>
    </message>
    <message>
        <source>Reduced</source>
        <translation>Reduziert</translation>
    </message>
    <message>
        <source>Changes appear at once, without animation.</source>
        <translation>Änderungen erscheinen sofort, ohne Animation.</translation>
    </message>
    <message>
        <source>Conversation names</source>
        <translation>Namen der Gespräche</translation>
    </message>
    <message>
        <source>After the first exchange</source>
        <translation>Nach dem ersten Austausch</translation>
    </message>
    <message>
        <source>Taken from the first question, or from the answer if the question is only a greeting.</source>
        <translation>Wird aus der ersten Frage übernommen oder, wenn diese nur ein Gruß ist, aus der Antwort.</translation>
    </message>
    <message>
        <source>From the first question</source>
        <translation>Aus der ersten Frage</translation>
    </message>
    <message>
        <source>Newer versions</source>
        <translation>Neuere Versionen</translation>
    </message>
    <message>
        <source>Never ask</source>
        <translation>Nie fragen</translation>
    </message>
    <message>
        <source>Ask once a day</source>
        <translation>Einmal am Tag fragen</translation>
    </message>
    <message>
        <source>Bough asks {host} for the newest version and sends nothing else. It installs nothing.</source>
        <translation>Bough fragt {host} nach der neuesten Version und sendet sonst nichts. Es installiert nichts.</translation>
    </message>
</context>
<context>
    <name>Header</name>
    <message>
        <source>Sidebar (Ctrl+B)</source>
        <translation>Seitenleiste (Strg+B)</translation>
    </message>
    <message>
        <source>Tree (Ctrl+T)</source>
        <translation>Baum (Strg+T)</translation>
    </message>
    <message>
        <source>Menus</source>
        <translation>Menüs</translation>
    </message>
    <message>
        <source>Stop loading the model</source>
        <translation>Laden des Modells abbrechen</translation>
    </message>
    <message>
        <source>Project: {}</source>
        <translation>Projekt: {}</translation>
    </message>
    <message>
        <source>Hide the sidebar</source>
        <translation>Seitenleiste ausblenden</translation>
    </message>
    <message>
        <source>Show the sidebar</source>
        <translation>Seitenleiste zeigen</translation>
    </message>
    <message>
        <source>Hide the tree</source>
        <translation>Baum ausblenden</translation>
    </message>
    <message>
        <source>Show the tree</source>
        <translation>Baum zeigen</translation>
    </message>
    <message>
        <source> · not loaded</source>
        <translation> · nicht geladen</translation>
    </message>
    <message>
        <source>Model: {}</source>
        <translation>Modell: {}</translation>
    </message>
    <message>
        <source> · not in memory; the next question loads it</source>
        <translation> · nicht im Speicher; die nächste Frage lädt es</translation>
    </message>
    <message>
        <source> · {} · {} M parameters · context {} tokens</source>
        <translation> · {} · {} Mio. Parameter · Kontext {} Token</translation>
    </message>
    <message>
        <source> · draft model {model}</source>
        <translation> · Entwurfsmodell {model}</translation>
    </message>
    <message>
        <source>Guide</source>
        <translation>Guide</translation>
    </message>
    <message>
        <source>starting</source>
        <translation>wird gestartet</translation>
    </message>
    <message>
        <source>building the model</source>
        <translation>Modell wird aufgebaut</translation>
    </message>
    <message>
        <source>reading the weights</source>
        <translation>Gewichte werden gelesen</translation>
    </message>
    <message>
        <source>connecting</source>
        <translation>verbindet sich</translation>
    </message>
    <message>
        <source>warming up</source>
        <translation>läuft sich warm</translation>
    </message>
    <message>
        <source>draft model: {stage}</source>
        <translation>Entwurfsmodell: {stage}</translation>
    </message>
</context>
<context>
    <name>HookRows</name>
    <message>
        <source>Looking for hooks…</source>
        <translation>Hooks werden gesucht…</translation>
    </message>
    <message>
        <source>This hook is no longer in the hooks folder. Turn it off.</source>
        <translation>Dieser Hook ist nicht mehr im Hook-Ordner. Schalten Sie ihn aus.</translation>
    </message>
    <message>
        <source>There are no hooks.</source>
        <translation>Es gibt keine Hooks.</translation>
    </message>
    <message>
        <source>Move {name} up</source>
        <translation>{name} nach oben</translation>
    </message>
    <message>
        <source>Move {name} down</source>
        <translation>{name} nach unten</translation>
    </message>
    <message>
        <source>required</source>
        <translation>erforderlich</translation>
    </message>
</context>
<context>
    <name>Import</name>
    <message>
        <source>{files} and {count} more</source>
        <translation>{files} und {count} weitere</translation>
    </message>
</context>
<context>
    <name>ImportWindow</name>
    <message>
        <source>Import</source>
        <translation>Importieren</translation>
    </message>
    <message>
        <source>Import these again, as copies</source>
        <translation>Als Kopien importieren</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Esc</source>
        <translation>Esc</translation>
    </message>
    <message>
        <source>Reading the files…</source>
        <translation>Die Dateien werden gelesen…</translation>
    </message>
    <message>
        <source>Nothing is imported yet.</source>
        <translation>Noch ist nichts importiert.</translation>
    </message>
    <message>
        <source>{conversations} with {messages} in {branches}</source>
        <translation>{conversations} mit {messages} in {branches}</translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s)</source>
        <translation>
            <numerusform>%n Gespräch</numerusform>
            <numerusform>%n Gespräche</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n message(s)</source>
        <translation>
            <numerusform>%n Nachricht</numerusform>
            <numerusform>%n Nachrichten</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n branch(es)</source>
        <translation>
            <numerusform>%n Zweig</numerusform>
            <numerusform>%n Zweigen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n message(s) for conversations in Bough</source>
        <translation>
            <numerusform>%n Nachricht für ein Gespräch in Bough</numerusform>
            <numerusform>%n Nachrichten für Gespräche in Bough</numerusform>
        </translation>
    </message>
    <message>
        <source>There is nothing to import</source>
        <translation>Es gibt nichts zu importieren</translation>
    </message>
    <message>
        <source>Bough reads .bough files, conversations of ChatGPT, Claude, Claude Code, Gemini CLI, Google AI Studio, LibreChat, llama.cpp, LM Studio, Open WebUI and SillyTavern, JSON Lines of OpenAI and ShareGPT, and its own Markdown.</source>
        <translation>Bough liest .bough-Dateien, Gespräche aus ChatGPT, Claude, Claude Code, Gemini CLI, Google AI Studio, LibreChat, llama.cpp, LM Studio, Open WebUI und SillyTavern, JSON Lines von OpenAI und ShareGPT und das eigene Markdown.</translation>
    </message>
    <message>
        <source>All of it is already in Bough.</source>
        <translation>Alles davon ist schon in Bough.</translation>
    </message>
    <message numerus="yes">
        <source>%n can&apos;t be imported</source>
        <translation>
            <numerusform>%n kann nicht importiert werden</numerusform>
            <numerusform>%n können nicht importiert werden</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s) in Bough will be updated from the file</source>
        <translation>
            <numerusform>%n Gespräch in Bough wird aus der Datei aktualisiert</numerusform>
            <numerusform>%n Gespräche in Bough werden aus der Datei aktualisiert</numerusform>
        </translation>
    </message>
    <message>
        <source>{name}, named “{there}” in Bough</source>
        <translation>{name}, heißt in Bough „{there}“</translation>
    </message>
    <message>
        <source>{name}: {messages}</source>
        <translation>{name}: {messages}</translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s) already in Bough, left out</source>
        <translation>
            <numerusform>%n Gespräch ist schon in Bough und wird weggelassen</numerusform>
            <numerusform>%n Gespräche sind schon in Bough und werden weggelassen</numerusform>
        </translation>
    </message>
    <message>
        <source>Changes</source>
        <translation>Änderungen</translation>
    </message>
    <message>
        <source>Importing…</source>
        <translation>Wird importiert…</translation>
    </message>
    <message>
        <source>{conversations} conversations, {messages} messages</source>
        <translation>{conversations} Gespräche, {messages} Nachrichten</translation>
    </message>
    <message>
        <source>The files could not be read</source>
        <translation>Die Dateien konnten nicht gelesen werden</translation>
    </message>
    <message>
        <source>Cancelled. Nothing was imported.</source>
        <translation>Abgebrochen. Es wurde nichts importiert.</translation>
    </message>
</context>
<context>
    <name>KeysPage</name>
    <message>
        <source>Actions and keys</source>
        <translation>Befehle und Tasten</translation>
    </message>
    <message>
        <source>Action</source>
        <translation>Befehl</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>Taste</translation>
    </message>
    <message>
        <source>Key for the selected action</source>
        <translation>Taste für den ausgewählten Befehl</translation>
    </message>
    <message>
        <source>Remove key</source>
        <translation>Taste entfernen</translation>
    </message>
    <message>
        <source>Reset to default</source>
        <translation>Zurücksetzen</translation>
    </message>
    <message>
        <source>Reset all</source>
        <translation>Alle zurücksetzen</translation>
    </message>
    <message>
        <source>Single letters work on the focused message, even if you choose another key.</source>
        <translation>Einzelne Buchstaben wirken auf die Nachricht mit dem Fokus, auch wenn Sie eine andere Taste wählen.</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>Tasten</translation>
    </message>
    <message>
        <source>Select an action, then press the new key.</source>
        <translation>Wählen Sie einen Befehl aus, und drücken Sie dann die neue Taste.</translation>
    </message>
    <message>
        <source>{} is needed for typing. Choose another key.</source>
        <translation>{} wird zum Schreiben gebraucht. Wählen Sie eine andere Taste.</translation>
    </message>
    <message>
        <source>{} alone types text. Combine it with Ctrl or Alt.</source>
        <translation>{} allein schreibt Text. Kombinieren Sie die Taste mit Strg oder Alt.</translation>
    </message>
    <message>
        <source>{} opens the menu “{}”. Choose another key.</source>
        <translation>{} öffnet das Menü „{}“. Wählen Sie eine andere Taste.</translation>
    </message>
    <message>
        <source>{} is already used for “{}”. Change that key first.</source>
        <translation>{} wird schon für „{}“ verwendet. Ändern Sie zuerst diese Taste.</translation>
    </message>
</context>
<context>
    <name>LastRequests</name>
    <message>
        <source>Last requests</source>
        <translation>Letzte Anfragen</translation>
    </message>
    <message>
        <source>{} read</source>
        <translation>{} gelesen</translation>
    </message>
    <message>
        <source>{} kept</source>
        <translation>{} im Cache</translation>
    </message>
    <message>
        <source>Left out of the request by your rule: {}</source>
        <translation>Nach Ihrer Regel aus der Anfrage weggelassen: {}</translation>
    </message>
    <message>
        <source>first token {} s</source>
        <translation>erstes Token {} s</translation>
    </message>
</context>
<context>
    <name>LinkPopover</name>
    <message>
        <source>Link</source>
        <translation>Link</translation>
    </message>
    <message>
        <source>Link address</source>
        <translation>Adresse des Links</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>Bough opens only web and mail addresses. You can copy this one.</source>
        <translation>Bough öffnet nur Web- und Mailadressen. Diese hier können Sie kopieren.</translation>
    </message>
</context>
<context>
    <name>LocalApiPage</name>
    <message>
        <source>Local API</source>
        <translation>Lokale API</translation>
    </message>
    <message>
        <source>Off</source>
        <translation>Aus</translation>
    </message>
    <message>
        <source>On</source>
        <translation>An</translation>
    </message>
    <message>
        <source>Only programs on this computer that have the key can send requests.</source>
        <translation>Nur Programme auf diesem Computer, die den Schlüssel haben, können Anfragen senden.</translation>
    </message>
    <message>
        <source>Editors, coding agents and scripts can use the model that is loaded in Bough, through the APIs of OpenAI and Anthropic.</source>
        <translation>Editoren, Coding-Agenten und Skripte können das in Bough geladene Modell nutzen, über die APIs von OpenAI und Anthropic.</translation>
    </message>
    <message>
        <source>How programs connect</source>
        <translation>So verbinden sich Programme</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>Adresse</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Copy the address</source>
        <translation>Die Adresse kopieren</translation>
    </message>
    <message>
        <source>For other computers:</source>
        <translation>Für andere Computer:</translation>
    </message>
    <message>
        <source>Address for other computers</source>
        <translation>Adresse für andere Computer</translation>
    </message>
    <message>
        <source>Copy the address for other computers</source>
        <translation>Adresse für andere Computer kopieren</translation>
    </message>
    <message>
        <source>Programs that use Anthropic&apos;s API take it without “/v1”.</source>
        <translation>Programme, die Anthropics API nutzen, brauchen sie ohne „/v1“.</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>Schlüssel</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>Anzeigen</translation>
    </message>
    <message>
        <source>Show the key</source>
        <translation>Den Schlüssel anzeigen</translation>
    </message>
    <message>
        <source>Copy the key</source>
        <translation>Den Schlüssel kopieren</translation>
    </message>
    <message>
        <source>New key</source>
        <translation>Neuer Schlüssel</translation>
    </message>
    <message>
        <source>Port</source>
        <translation>Port</translation>
    </message>
    <message>
        <source>Models for requests</source>
        <translation>Modelle für Anfragen</translation>
    </message>
    <message>
        <source>Requests for other models get an error.</source>
        <translation>Anfragen nach anderen Modellen erhalten einen Fehler.</translation>
    </message>
    <message>
        <source>Only the loaded model</source>
        <translation>Nur das geladene Modell</translation>
    </message>
    <message>
        <source>All models on this computer</source>
        <translation>Alle Modelle auf diesem Computer</translation>
    </message>
    <message>
        <source>If a request names another model, Bough loads that one in place of yours when the running answers end.</source>
        <translation>Nennt eine Anfrage ein anderes Modell, lädt Bough es anstelle Ihres Modells, sobald die laufenden Antworten fertig sind.</translation>
    </message>
    <message>
        <source>Requests as conversations</source>
        <translation>Anfragen als Gespräche</translation>
    </message>
    <message>
        <source>Do not keep them</source>
        <translation>Nicht behalten</translation>
    </message>
    <message>
        <source>Keep them</source>
        <translation>Behalten</translation>
    </message>
    <message>
        <source>An agent&apos;s session becomes a conversation in the folder “Local API”, with a branch wherever it went back. You can read it, and continue it here.</source>
        <translation>Die Sitzung eines Agenten wird ein Gespräch im Ordner „Local API“, mit einem Zweig überall dort, wo der Agent zurückging. Sie können es hier lesen und fortsetzen.</translation>
    </message>
    <message>
        <source>A model for other programs</source>
        <translation>Ein Modell für andere Programme</translation>
    </message>
    <message>
        <source>Hide</source>
        <translation>Verbergen</translation>
    </message>
    <message>
        <source>Only programs that have the key can send requests, also from other computers.</source>
        <translation>Nur Programme, die den Schlüssel haben, können Anfragen senden, auch von anderen Computern.</translation>
    </message>
    <message>
        <source>The local API is starting.</source>
        <translation>Die lokale API wird gestartet.</translation>
    </message>
    <message>
        <source>The key comes from the environment variable BOUGH_API_KEY.</source>
        <translation>Der Schlüssel kommt aus der Umgebungsvariablen BOUGH_API_KEY.</translation>
    </message>
    <message>
        <source>The key is stored in your system&apos;s keyring. A new key makes it invalid.</source>
        <translation>Der Schlüssel wird im Schlüsselbund Ihres Systems gespeichert. Ein neuer Schlüssel macht ihn ungültig.</translation>
    </message>
    <message>
        <source>Your system&apos;s keyring can&apos;t be used, so Bough makes another key at each start. To choose one, set BOUGH_API_KEY.</source>
        <translation>Der Schlüsselbund Ihres Systems kann nicht verwendet werden, deshalb erzeugt Bough bei jedem Start einen neuen Schlüssel. Um selbst einen festzulegen, setzen Sie BOUGH_API_KEY.</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>New conversation in “{folder}”</source>
        <translation>Neues Gespräch in „{folder}“</translation>
    </message>
    <message>
        <source>New conversation</source>
        <translation>Neues Gespräch</translation>
    </message>
    <message>
        <source>Ask the guide about Bough</source>
        <translation>Frage an den Guide (auf Englisch)</translation>
    </message>
    <message>
        <source>Ask the guide</source>
        <translation>Den Guide fragen</translation>
    </message>
    <message>
        <source>Ask anything</source>
        <translation>Stellen Sie eine Frage</translation>
    </message>
</context>
<context>
    <name>MemoryPage</name>
    <message>
        <source>Cache in memory</source>
        <translation>Cache im Arbeitsspeicher</translation>
    </message>
    <message>
        <source>Cache on disk</source>
        <translation>Cache auf dem Datenträger</translation>
    </message>
    <message>
        <source>10 GiB for all models together, or a tenth of the free space if that is less.</source>
        <translation>10 GiB für alle Modelle zusammen oder ein Zehntel des freien Platzes, wenn das weniger ist.</translation>
    </message>
    <message>
        <source>Keep nothing on disk</source>
        <translation>Nichts auf dem Datenträger speichern</translation>
    </message>
    <message>
        <source>Existing files stay until you empty the cache.</source>
        <translation>Vorhandene Dateien bleiben, bis Sie den Cache leeren.</translation>
    </message>
    <message>
        <source>Cache precision</source>
        <translation>Genauigkeit des Caches</translation>
    </message>
    <message>
        <source>Full precision</source>
        <translation>Volle Genauigkeit</translation>
    </message>
    <message>
        <source>No loss of quality.</source>
        <translation>Kein Qualitätsverlust.</translation>
    </message>
    <message>
        <source>8 bits</source>
        <translation>8 Bit</translation>
    </message>
    <message>
        <source>Uses about half as much memory. Answers hardly change.</source>
        <translation>Braucht nur etwa halb so viel Arbeitsspeicher. Antworten ändern sich kaum.</translation>
    </message>
    <message>
        <source>4 bits</source>
        <translation>4 Bit</translation>
    </message>
    <message>
        <source>Uses about a quarter as much memory. Answers can get worse, especially in long conversations.</source>
        <translation>Braucht nur etwa ein Viertel so viel Arbeitsspeicher. Antworten können schlechter werden, vor allem in langen Gesprächen.</translation>
    </message>
    <message>
        <source>Empty</source>
        <translation>Leeren</translation>
    </message>
    <message>
        <source>Apply</source>
        <translation>Anwenden</translation>
    </message>
    <message>
        <source>Before a model answers, it reads the conversation. The text it has read is kept in a cache, so that the next answer or another branch starts at once. More memory keeps more conversations ready.</source>
        <translation>Bevor ein Modell antwortet, liest es das Gespräch. Gelesener Text bleibt in einem Cache, damit die nächste Antwort oder ein anderer Zweig sofort beginnt. Mehr Arbeitsspeicher hält mehr Gespräche bereit.</translation>
    </message>
    <message>
        <source>Show folder</source>
        <translation>Ordner anzeigen</translation>
    </message>
    <message>
        <source>Clears the cache on disk and in memory. Your conversations are kept.</source>
        <translation>Leert den Cache auf dem Datenträger und im Arbeitsspeicher. Ihre Gespräche bleiben erhalten.</translation>
    </message>
    <message>
        <source>Also keep the cache on disk</source>
        <translation>Cache auch auf dem Datenträger speichern</translation>
    </message>
    <message>
        <source>The cache on disk is kept when you close Bough or use another model.</source>
        <translation>Der Cache auf dem Datenträger bleibt erhalten, wenn Sie Bough schließen oder ein anderes Modell verwenden.</translation>
    </message>
    <message>
        <source>its cache is loaded from disk.</source>
        <translation>sein Cache wird vom Datenträger geladen.</translation>
    </message>
    <message>
        <source>With fewer bits, more text fits into the same memory, but it is stored less precisely. Not every model supports this.</source>
        <translation>Mit weniger Bits passt mehr Text in denselben Arbeitsspeicher, er wird aber weniger genau gespeichert. Nicht jedes Modell unterstützt das.</translation>
    </message>
    <message>
        <source>The model will be loaded again when no answer is being written; {}</source>
        <translation>Das Modell wird neu geladen, sobald keine Antwort mehr geschrieben wird; {}</translation>
    </message>
    <message>
        <source>it reads the conversations again when needed.</source>
        <translation>es liest die Gespräche bei Bedarf erneut.</translation>
    </message>
    <message>
        <source>The loaded model does not support this and uses full precision.</source>
        <translation>Das geladene Modell unterstützt das nicht und verwendet volle Genauigkeit.</translation>
    </message>
    <message>
        <source>Up to {} for the loaded model.</source>
        <translation>Bis zu {} für das geladene Modell.</translation>
    </message>
    <message>
        <source>As much as the model and the memory of this computer allow.</source>
        <translation>So viel, wie das Modell und der Arbeitsspeicher dieses Computers zulassen.</translation>
    </message>
    <message>
        <source>No model is loaded.</source>
        <translation>Es ist kein Modell geladen.</translation>
    </message>
    <message>
        <source>Now: …</source>
        <translation>Jetzt: …</translation>
    </message>
    <message>
        <source>Now: {} ({} tokens).</source>
        <translation>Jetzt: {} ({} Token).</translation>
    </message>
    <message>
        <source>Now: nothing.</source>
        <translation>Jetzt: nichts.</translation>
    </message>
    <message>
        <source>Now: {}.</source>
        <translation>Jetzt: {}.</translation>
    </message>
    <message>
        <source>Now: {}, all of it from this model ({} tokens).</source>
        <translation>Jetzt: {}, alles von diesem Modell ({} Token).</translation>
    </message>
    <message>
        <source>Now: {}, {} of it from this model ({} tokens).</source>
        <translation>Jetzt: {}, davon {} von diesem Modell ({} Token).</translation>
    </message>
    <message>
        <source>The cache is in {}. The folder can&apos;t be opened here.</source>
        <translation>Der Cache liegt in {}. Der Ordner kann hier nicht geöffnet werden.</translation>
    </message>
</context>
<context>
    <name>Menus</name>
    <message>
        <source>&amp;File</source>
        <translation>&amp;Datei</translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation>&amp;Bearbeiten</translation>
    </message>
    <message>
        <source>&amp;Message</source>
        <translation>&amp;Nachricht</translation>
    </message>
    <message>
        <source>&amp;Ask</source>
        <translation>&amp;Fragen</translation>
    </message>
    <message>
        <source>M&amp;odels</source>
        <translation>M&amp;odelle</translation>
    </message>
    <message>
        <source>Draft model</source>
        <translation>Entwurfsmodell</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>&amp;Ansicht</translation>
    </message>
    <message>
        <source>Theme</source>
        <translation>Farbschema</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>&amp;Hilfe</translation>
    </message>
    <message>
        <source>New conversation</source>
        <translation>Neues Gespräch</translation>
    </message>
    <message>
        <source>New window</source>
        <translation>Neues Fenster</translation>
    </message>
    <message>
        <source>New project…</source>
        <translation>Neues Projekt…</translation>
    </message>
    <message>
        <source>Project…</source>
        <translation>Projekt…</translation>
    </message>
    <message>
        <source>Rename conversation…</source>
        <translation>Gespräch umbenennen…</translation>
    </message>
    <message>
        <source>Pin conversation</source>
        <translation>Gespräch anheften</translation>
    </message>
    <message>
        <source>Move to project…</source>
        <translation>In Projekt verschieben…</translation>
    </message>
    <message>
        <source>Archive conversation</source>
        <translation>Gespräch archivieren</translation>
    </message>
    <message>
        <source>Delete conversation</source>
        <translation>Gespräch löschen</translation>
    </message>
    <message>
        <source>Trash…</source>
        <translation>Papierkorb…</translation>
    </message>
    <message>
        <source>Empty trash…</source>
        <translation>Papierkorb leeren…</translation>
    </message>
    <message>
        <source>Import…</source>
        <translation>Importieren…</translation>
    </message>
    <message>
        <source>Export branch…</source>
        <translation>Zweig exportieren…</translation>
    </message>
    <message>
        <source>Export conversations…</source>
        <translation>Gespräche exportieren…</translation>
    </message>
    <message>
        <source>Print branch…</source>
        <translation>Zweig drucken…</translation>
    </message>
    <message>
        <source>Backups…</source>
        <translation>Sicherungen…</translation>
    </message>
    <message>
        <source>Show data folder</source>
        <translation>Datenordner anzeigen</translation>
    </message>
    <message>
        <source>Settings…</source>
        <translation>Einstellungen…</translation>
    </message>
    <message>
        <source>Export settings…</source>
        <translation>Einstellungen exportieren…</translation>
    </message>
    <message>
        <source>Import settings…</source>
        <translation>Einstellungen importieren…</translation>
    </message>
    <message>
        <source>Move to another computer…</source>
        <translation>Auf einen anderen Computer umziehen…</translation>
    </message>
    <message>
        <source>Close window</source>
        <translation>Fenster schließen</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>Beenden</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Redo</source>
        <translation>Wiederholen</translation>
    </message>
    <message>
        <source>Cut</source>
        <translation>Ausschneiden</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Paste</source>
        <translation>Einfügen</translation>
    </message>
    <message>
        <source>Select all</source>
        <translation>Alles auswählen</translation>
    </message>
    <message>
        <source>Select message above</source>
        <translation>Nachricht darüber auswählen</translation>
    </message>
    <message>
        <source>Select message below</source>
        <translation>Nachricht darunter auswählen</translation>
    </message>
    <message>
        <source>Select all messages</source>
        <translation>Alle Nachrichten auswählen</translation>
    </message>
    <message>
        <source>Copy selected messages</source>
        <translation>Ausgewählte Nachrichten kopieren</translation>
    </message>
    <message>
        <source>Find in conversation</source>
        <translation>Im Gespräch suchen</translation>
    </message>
    <message>
        <source>Find next</source>
        <translation>Weitersuchen</translation>
    </message>
    <message>
        <source>Find previous</source>
        <translation>Rückwärts suchen</translation>
    </message>
    <message>
        <source>Search everything…</source>
        <translation>Alles durchsuchen…</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>Regenerate</source>
        <translation>Neu erzeugen</translation>
    </message>
    <message>
        <source>Regenerate with…</source>
        <translation>Neu erzeugen mit…</translation>
    </message>
    <message>
        <source>Fork</source>
        <translation>Abzweigen</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Copy message</source>
        <translation>Nachricht kopieren</translation>
    </message>
    <message>
        <source>Replace in place</source>
        <translation>Ohne neue Version ersetzen</translation>
    </message>
    <message>
        <source>Star</source>
        <translation>Mit Stern markieren</translation>
    </message>
    <message>
        <source>Pin branch</source>
        <translation>Zweig anheften</translation>
    </message>
    <message>
        <source>Name branch…</source>
        <translation>Zweig benennen…</translation>
    </message>
    <message>
        <source>Prune</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Versions side by side</source>
        <translation>Versionen nebeneinander</translation>
    </message>
    <message>
        <source>Compare versions</source>
        <translation>Versionen vergleichen</translation>
    </message>
    <message>
        <source>Keep only this version</source>
        <translation>Nur diese Version behalten</translation>
    </message>
    <message>
        <source>Show source text</source>
        <translation>Quelltext anzeigen</translation>
    </message>
    <message>
        <source>Show or fold the thought</source>
        <translation>Nachdenken ein- oder ausblenden</translation>
    </message>
    <message>
        <source>Links…</source>
        <translation>Links…</translation>
    </message>
    <message>
        <source>Previous version</source>
        <translation>Vorige Version</translation>
    </message>
    <message>
        <source>Next version</source>
        <translation>Nächste Version</translation>
    </message>
    <message>
        <source>Previous message</source>
        <translation>Vorige Nachricht</translation>
    </message>
    <message>
        <source>Next message</source>
        <translation>Nächste Nachricht</translation>
    </message>
    <message>
        <source>Run again and compare</source>
        <translation>Erneut ausführen und vergleichen</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Stoppen</translation>
    </message>
    <message>
        <source>Write a message</source>
        <translation>Eine Nachricht schreiben</translation>
    </message>
    <message>
        <source>Attach files…</source>
        <translation>Dateien anhängen…</translation>
    </message>
    <message>
        <source>System prompt…</source>
        <translation>Systemprompt…</translation>
    </message>
    <message>
        <source>Answer format…</source>
        <translation>Antwortformat…</translation>
    </message>
    <message>
        <source>Sampling and hooks…</source>
        <translation>Sampling und Hooks…</translation>
    </message>
    <message>
        <source>Ask again with the project&apos;s text</source>
        <translation>Mit dem Text des Projekts erneut fragen</translation>
    </message>
    <message>
        <source>Models…</source>
        <translation>Modelle…</translation>
    </message>
    <message>
        <source>Open folder…</source>
        <translation>Ordner öffnen…</translation>
    </message>
    <message>
        <source>No draft model</source>
        <translation>Kein Entwurfsmodell</translation>
    </message>
    <message>
        <source>Choose draft model…</source>
        <translation>Entwurfsmodell wählen…</translation>
    </message>
    <message>
        <source>Command palette…</source>
        <translation>Befehlspalette…</translation>
    </message>
    <message>
        <source>Sidebar</source>
        <translation>Seitenleiste</translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation>Token</translation>
    </message>
    <message>
        <source>Tree</source>
        <translation>Baum</translation>
    </message>
    <message>
        <source>Navigate the tree</source>
        <translation>Im Baum navigieren</translation>
    </message>
    <message>
        <source>System</source>
        <translation>System</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Hell</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Dunkel</translation>
    </message>
    <message>
        <source>Larger text</source>
        <translation>Größere Schrift</translation>
    </message>
    <message>
        <source>Smaller text</source>
        <translation>Kleinere Schrift</translation>
    </message>
    <message>
        <source>Usual size of text</source>
        <translation>Normale Schriftgröße</translation>
    </message>
    <message>
        <source>Ask the guide</source>
        <translation>Guide fragen</translation>
    </message>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>Tastenkürzel</translation>
    </message>
    <message>
        <source>About Bough</source>
        <translation>Über Bough</translation>
    </message>
</context>
<context>
    <name>MessageCommands</name>
    <message numerus="yes">
        <source>Prune (%n message(s))</source>
        <translation>
            <numerusform>Entfernen (%n Nachricht)</numerusform>
            <numerusform>Entfernen (%n Nachrichten)</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Keep only this version (prune %n message(s))</source>
        <translation>
            <numerusform>Nur diese Version behalten (%n Nachricht entfernen)</numerusform>
            <numerusform>Nur diese Version behalten (%n Nachrichten entfernen)</numerusform>
        </translation>
    </message>
    <message>
        <source>This message has only one version. Edit or regenerate it to make another.</source>
        <translation>Von dieser Nachricht gibt es nur eine Version. Bearbeiten Sie sie, oder erzeugen Sie sie neu, um eine weitere zu erhalten.</translation>
    </message>
</context>
<context>
    <name>MessageEditor</name>
    <message>
        <source>New version</source>
        <translation>Neue Version</translation>
    </message>
    <message>
        <source>The old version is kept.</source>
        <translation>Die alte Version bleibt erhalten.</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Ask again</source>
        <translation>Erneut fragen</translation>
    </message>
    <message>
        <source>Enter or Ctrl+Enter</source>
        <translation>Eingabe oder Strg+Eingabe</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Speichern</translation>
    </message>
    <message>
        <source>Save as a new version (Enter)</source>
        <translation>Als neue Version speichern (Eingabe)</translation>
    </message>
    <message>
        <source>Save and continue</source>
        <translation>Speichern und fortsetzen</translation>
    </message>
    <message>
        <source>Save as a new version that the model continues (Ctrl+Enter)</source>
        <translation>Als neue Version speichern, die das Modell fortsetzt (Strg+Eingabe)</translation>
    </message>
</context>
<context>
    <name>MessageFooter</name>
    <message>
        <source>Not saved yet. It is saved as soon as possible.</source>
        <translation>Noch nicht gespeichert. Bough speichert es, sobald das möglich ist.</translation>
    </message>
    <message>
        <source>tokens unknown</source>
        <translation>Token unbekannt</translation>
    </message>
    <message>
        <source>probabilities not recorded</source>
        <translation>Wahrscheinlichkeiten nicht aufgezeichnet</translation>
    </message>
</context>
<context>
    <name>MessageList</name>
    <message>
        <source>Message {number}</source>
        <translation>Nachricht {number}</translation>
    </message>
</context>
<context>
    <name>MessageMarks</name>
    <message>
        <source>Starred</source>
        <translation>Mit Stern</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>Angeheftet</translation>
    </message>
</context>
<context>
    <name>MessageText</name>
    <message>
        <source>With the formulas {formulas}</source>
        <translation>Mit den Formeln {formulas}</translation>
    </message>
    <message>
        <source>There is too much to format: the end of this text is shown as it was written.</source>
        <translation>Zu viel zum Formatieren: Das Ende dieses Textes wird unformatiert gezeigt.</translation>
    </message>
    <message>
        <source>Show more ({count} more characters)</source>
        <translation>Mehr anzeigen (noch {count} Zeichen)</translation>
    </message>
    <message>
        <source>… and {count} more characters. Copy or export the message to get the whole text.</source>
        <translation>… und {count} weitere Zeichen. Kopieren oder exportieren Sie die Nachricht, um den ganzen Text zu erhalten.</translation>
    </message>
</context>
<context>
    <name>MessageView</name>
    <message>
        <source>{}, version {} of {}</source>
        <translation>{}, Version {} von {}</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>You</source>
        <translation>Sie</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Antwort</translation>
    </message>
    <message>
        <source>Note</source>
        <translation>Notiz</translation>
    </message>
    <message>
        <source>File</source>
        <translation>Datei</translation>
    </message>
    <message>
        <source>It can be copied and exported, but not edited here.</source>
        <translation>Er kann kopiert und exportiert, aber hier nicht bearbeitet werden.</translation>
    </message>
</context>
<context>
    <name>ModelEntries</name>
    <message>
        <source>In progress</source>
        <translation>In Arbeit</translation>
    </message>
    <message>
        <source>On this computer</source>
        <translation>Auf diesem Computer</translation>
    </message>
    <message>
        <source>On the hub</source>
        <translation>Auf dem Hub</translation>
    </message>
    <message>
        <source>Good first models</source>
        <translation>Gute erste Modelle</translation>
    </message>
</context>
<context>
    <name>ModelList</name>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
</context>
<context>
    <name>ModelPage</name>
    <message>
        <source>Back to the list</source>
        <translation>Zurück zur Liste</translation>
    </message>
    <message>
        <source>Back to the list (Esc)</source>
        <translation>Zurück zur Liste (Esc)</translation>
    </message>
    <message>
        <source>More</source>
        <translation>Mehr</translation>
    </message>
    <message>
        <source>Quantization</source>
        <translation>Quantisierung</translation>
    </message>
    <message>
        <source>Cancel, and remove the converted part; the file is kept</source>
        <translation>Abbrechen und den umgewandelten Teil entfernen; die Datei bleibt erhalten</translation>
    </message>
    <message>
        <source>Cancel this download, and remove the downloaded part</source>
        <translation>Diesen Download abbrechen und den geladenen Teil entfernen</translation>
    </message>
    <message>
        <source>Start a chat</source>
        <translation>Chat beginnen</translation>
    </message>
    <message>
        <source>Start a conversation with this model (Enter)</source>
        <translation>Ein Gespräch mit diesem Modell beginnen (Eingabe)</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Free memory first</source>
        <translation>Erst Arbeitsspeicher freigeben</translation>
    </message>
    <message>
        <source>End the guide&apos;s process; it starts again when you ask the guide (Enter)</source>
        <translation>Den Prozess des Guides beenden; er startet wieder, wenn Sie den Guide fragen (Eingabe)</translation>
    </message>
    <message>
        <source>Stop loading this model</source>
        <translation>Laden dieses Modells abbrechen</translation>
    </message>
    <message>
        <source>Convert</source>
        <translation>Umwandeln</translation>
    </message>
    <message>
        <source>Make a model folder from this file; the file is kept (Enter)</source>
        <translation>Aus dieser Datei einen Modellordner erstellen; die Datei bleibt erhalten (Eingabe)</translation>
    </message>
    <message>
        <source>Download</source>
        <translation>Herunterladen</translation>
    </message>
    <message>
        <source>Download this model from the hub (Enter)</source>
        <translation>Dieses Modell vom Hub herunterladen (Eingabe)</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>Pausieren</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Erneut versuchen</translation>
    </message>
    <message>
        <source>Ask the hub again (Enter)</source>
        <translation>Den Hub erneut fragen (Eingabe)</translation>
    </message>
    <message>
        <source>Loading</source>
        <translation>Wird geladen</translation>
    </message>
    <message>
        <source>Converting</source>
        <translation>Wird umgewandelt</translation>
    </message>
    <message>
        <source>Convert next</source>
        <translation>Als Nächstes umwandeln</translation>
    </message>
    <message>
        <source>Download next</source>
        <translation>Als Nächstes herunterladen</translation>
    </message>
    <message>
        <source>Edit endpoint…</source>
        <translation>Endpunkt ändern…</translation>
    </message>
    <message>
        <source>Remove endpoint</source>
        <translation>Endpunkt entfernen</translation>
    </message>
    <message>
        <source>Open web page</source>
        <translation>Webseite öffnen</translation>
    </message>
    <message>
        <source>Delete…</source>
        <translation>Löschen…</translation>
    </message>
    <message>
        <source>Delete {title} from this computer? This frees {size} and can&apos;t be undone. Your conversations are kept.</source>
        <translation>{title} von diesem Computer löschen? Das gibt {size} frei und kann nicht rückgängig gemacht werden. Ihre Gespräche bleiben erhalten.</translation>
    </message>
    <message>
        <source>Other programs that use the Hugging Face cache lose it, too.</source>
        <translation>Es fehlt dann auch anderen Programmen, die den Hugging-Face-Cache benutzen.</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>Keep</source>
        <translation>Behalten</translation>
    </message>
    <message>
        <source>Loading: {percent} %</source>
        <translation>Wird geladen: {percent} %</translation>
    </message>
    <message>
        <source>The finished part is kept (Enter)</source>
        <translation>Der fertige Teil bleibt erhalten (Eingabe)</translation>
    </message>
    <message>
        <source>Continue after the finished part (Enter)</source>
        <translation>Nach dem fertigen Teil fortsetzen (Eingabe)</translation>
    </message>
    <message>
        <source>Downloading</source>
        <translation>Wird heruntergeladen</translation>
    </message>
    <message>
        <source>Unload</source>
        <translation>Entladen</translation>
    </message>
    <message>
        <source>Show folder</source>
        <translation>Ordner anzeigen</translation>
    </message>
</context>
<context>
    <name>ModelSettingsForm</name>
    <message>
        <source>None</source>
        <translation>Keines</translation>
    </message>
    <message>
        <source>Stop strings</source>
        <translation>Stoppsequenzen</translation>
    </message>
    <message>
        <source>No system prompt</source>
        <translation>Kein Systemprompt</translation>
    </message>
    <message>
        <source>Your notes on this model</source>
        <translation>Ihre Notizen zu diesem Modell</translation>
    </message>
    <message>
        <source>Reasoning begins with</source>
        <translation>Nachdenken beginnt mit</translation>
    </message>
    <message>
        <source>Reasoning ends with</source>
        <translation>Nachdenken endet mit</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>New conversations with this model begin with it</source>
        <translation>Neue Gespräche mit diesem Modell beginnen damit</translation>
    </message>
    <message>
        <source>Stop strings for new conversations</source>
        <translation>Stoppsequenzen für neue Gespräche</translation>
    </message>
    <message>
        <source>Reasoning</source>
        <translation>Nachdenken</translation>
    </message>
    <message>
        <source>Cache precision</source>
        <translation>Genauigkeit des Caches</translation>
    </message>
    <message>
        <source>Fewer bits take less memory for the context</source>
        <translation>Weniger Bits brauchen weniger Arbeitsspeicher für den Kontext</translation>
    </message>
    <message>
        <source>Draft model</source>
        <translation>Entwurfsmodell</translation>
    </message>
    <message>
        <source>A much smaller model with the same tokens, which makes answers faster</source>
        <translation>Ein viel kleineres Modell mit denselben Token, das Antworten schneller macht</translation>
    </message>
    <message>
        <source>Notes</source>
        <translation>Notizen</translation>
    </message>
    <message>
        <source>As in the settings ({precision})</source>
        <translation>Wie in den Einstellungen ({precision})</translation>
    </message>
    <message>
        <source>full precision</source>
        <translation>volle Genauigkeit</translation>
    </message>
    <message>
        <source>{number} bits</source>
        <translation>{number} Bit</translation>
    </message>
    <message>
        <source>{model} (recommended)</source>
        <translation>{model} (empfohlen)</translation>
    </message>
    <message>
        <source>In memory</source>
        <translation>Im Arbeitsspeicher</translation>
    </message>
    <message>
        <source>Sampling</source>
        <translation>Sampling</translation>
    </message>
    <message>
        <source>{size}: unpacked, which is faster on a CPU</source>
        <translation>{size}: entpackt, was auf einer CPU schneller ist</translation>
    </message>
    <message>
        <source>{size}: quantized, because {needed} for unpacked weights were not free</source>
        <translation>{size}: quantisiert, weil für entpackte Gewichte keine {needed} frei waren</translation>
    </message>
    <message>
        <source>not used, because the value is invalid: {names}</source>
        <translation>nicht verwendet, weil der Wert ungültig ist: {names}</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>The text before and after this model&apos;s reasoning, which is folded in answers. This changes what you see, not what the model reads.</source>
        <translation>Der Text vor und nach dem Nachdenken dieses Modells, das in Antworten eingeklappt wird. Das ändert, was Sie sehen, nicht was das Modell liest.</translation>
    </message>
    <message>
        <source>system prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message numerus="yes">
        <source>%n stop string(s)</source>
        <translation>
            <numerusform>%n Stoppsequenz</numerusform>
            <numerusform>%n Stoppsequenzen</numerusform>
        </translation>
    </message>
    <message>
        <source>reasoning</source>
        <translation>Nachdenken</translation>
    </message>
    <message>
        <source>draft model</source>
        <translation>Entwurfsmodell</translation>
    </message>
</context>
<context>
    <name>Models</name>
    <message>
        <source>Guide</source>
        <translation>Guide</translation>
    </message>
    <message>
        <source>context {length}</source>
        <translation>Kontext {length}</translation>
    </message>
    <message>
        <source>{number} downloads</source>
        <translation>{number} Downloads</translation>
    </message>
    <message>
        <source>loaded</source>
        <translation>geladen</translation>
    </message>
    <message>
        <source>loading</source>
        <translation>wird geladen</translation>
    </message>
    <message>
        <source>can&apos;t be used</source>
        <translation>nicht verwendbar</translation>
    </message>
    <message>
        <source>waiting</source>
        <translation>wartet</translation>
    </message>
    <message>
        <source>paused</source>
        <translation>pausiert</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>fehlgeschlagen</translation>
    </message>
    <message>
        <source>{done} of {total}</source>
        <translation>{done} von {total}</translation>
    </message>
    <message>
        <source>{num} ahead</source>
        <translation>{num} davor</translation>
    </message>
    <message>
        <source>being checked</source>
        <translation>wird geprüft</translation>
    </message>
    <message>
        <source>being converted</source>
        <translation>wird umgewandelt</translation>
    </message>
    <message>
        <source>no connection</source>
        <translation>keine Verbindung</translation>
    </message>
    <message>
        <source>{size}/s</source>
        <translation>{size}/s</translation>
    </message>
    <message>
        <source>{time} left</source>
        <translation>noch {time}</translation>
    </message>
    <message>
        <source>{number} s</source>
        <translation>{number} s</translation>
    </message>
    <message>
        <source>{number} min</source>
        <translation>{number} min</translation>
    </message>
    <message>
        <source>{number} h</source>
        <translation>{number} h</translation>
    </message>
    <message>
        <source>fits</source>
        <translation>passt</translation>
    </message>
    <message>
        <source>tight</source>
        <translation>knapp</translation>
    </message>
    <message>
        <source>too big</source>
        <translation>zu groß</translation>
    </message>
    <message>
        <source>reads {speed}</source>
        <translation>liest {speed}</translation>
    </message>
    <message>
        <source>writes {speed}</source>
        <translation>schreibt {speed}</translation>
    </message>
    <message>
        <source>{bits} bits</source>
        <translation>{bits} Bit</translation>
    </message>
    <message>
        <source>{number} billion</source>
        <translation>{number} Milliarden</translation>
    </message>
    <message>
        <source>{number} million</source>
        <translation>{number} Millionen</translation>
    </message>
    <message>
        <source>Bough</source>
        <translation>Bough</translation>
    </message>
    <message>
        <source>Hugging Face cache</source>
        <translation>Hugging-Face-Cache</translation>
    </message>
    <message>
        <source>Added folder</source>
        <translation>Hinzugefügter Ordner</translation>
    </message>
    <message>
        <source>A tiny model that answers questions about Bough. It knows nothing else.</source>
        <translation>Ein winziges Modell, das Fragen zu Bough beantwortet. Sonst weiß es nichts.</translation>
    </message>
    <message>
        <source>A GGUF file. Bough makes a model folder from it; the file stays as it is.</source>
        <translation>Eine GGUF-Datei. Bough erstellt daraus einen Modellordner; die Datei bleibt unverändert.</translation>
    </message>
    <message>
        <source>It has no chat template: it continues a text instead of answering questions.</source>
        <translation>Es hat keine Chatvorlage: Es setzt Texte fort, statt Fragen zu beantworten.</translation>
    </message>
    <message>
        <source>Very small: quick on any computer, and often wrong.</source>
        <translation>Sehr klein: auf jedem Computer schnell, aber oft falsch.</translation>
    </message>
    <message>
        <source>Small: quick, for short and simple tasks.</source>
        <translation>Klein: schnell, für kurze und einfache Aufgaben.</translation>
    </message>
    <message>
        <source>Medium: for everyday questions, summaries and drafts.</source>
        <translation>Mittel: für alltägliche Fragen, Zusammenfassungen und Entwürfe.</translation>
    </message>
    <message>
        <source>Large: for most work, also longer texts and code.</source>
        <translation>Groß: für die meisten Aufgaben, auch für längere Texte und Code.</translation>
    </message>
    <message>
        <source>Very large: for difficult work. It needs much memory and time.</source>
        <translation>Sehr groß: für anspruchsvolle Aufgaben. Es braucht viel Arbeitsspeicher und Zeit.</translation>
    </message>
</context>
<context>
    <name>ModelsField</name>
    <message>
        <source>{num} models</source>
        <translation>{num} Modelle</translation>
    </message>
    <message>
        <source>This model</source>
        <translation>Dieses Modell</translation>
    </message>
</context>
<context>
    <name>ModelsPage</name>
    <message>
        <source>Models…</source>
        <translation>Modelle…</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>The models on this computer, and those of the hub, have a window of their own.</source>
        <translation>Die Modelle auf diesem Computer und die des Hubs haben ein eigenes Fenster.</translation>
    </message>
    <message>
        <source>Unload the model</source>
        <translation>Das Modell entladen</translation>
    </message>
    <message>
        <source>Never</source>
        <translation>Nie</translation>
    </message>
    <message>
        <source>It stays in memory until you choose another one.</source>
        <translation>Es bleibt im Arbeitsspeicher, bis Sie ein anderes wählen.</translation>
    </message>
    <message numerus="yes">
        <source>After %n minute(s) without an answer</source>
        <translation>
            <numerusform>Nach %n Minute ohne Antwort</numerusform>
            <numerusform>Nach %n Minuten ohne Antwort</numerusform>
        </translation>
    </message>
    <message>
        <source>Then its memory is free for other programs. The next question loads it again.</source>
        <translation>Sein Arbeitsspeicher ist dann für andere Programme frei. Die nächste Frage lädt es wieder.</translation>
    </message>
    <message>
        <source>The folder is no longer searched. Its files are kept.</source>
        <translation>Der Ordner wird nicht mehr durchsucht. Seine Dateien bleiben erhalten.</translation>
    </message>
    <message>
        <source>Add folder…</source>
        <translation>Ordner hinzufügen…</translation>
    </message>
    <message>
        <source>Folders with models</source>
        <translation>Ordner mit Modellen</translation>
    </message>
    <message>
        <source>Bough&apos;s own folder, the Hugging Face cache and those of LM Studio, Ollama and llama.cpp are always searched. Nothing is copied.</source>
        <translation>Boughs eigener Ordner, der Hugging-Face-Cache und die Ordner von LM Studio, Ollama und llama.cpp werden immer durchsucht. Nichts wird kopiert.</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Remove {what}</source>
        <translation>{what} entfernen</translation>
    </message>
    <message>
        <source>Add a folder with models</source>
        <translation>Einen Ordner mit Modellen hinzufügen</translation>
    </message>
</context>
<context>
    <name>ModelsWindow</name>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>Suchen</translation>
    </message>
    <message>
        <source>Search here and on the hub</source>
        <translation>Hier und auf dem Hub suchen</translation>
    </message>
    <message>
        <source>Search models</source>
        <translation>Modelle suchen</translation>
    </message>
    <message>
        <source>Open a model, or add a folder</source>
        <translation>Ein Modell öffnen oder einen Ordner hinzufügen</translation>
    </message>
    <message>
        <source>Open GGUF file…</source>
        <translation>GGUF-Datei öffnen…</translation>
    </message>
    <message>
        <source>Open model folder…</source>
        <translation>Modellordner öffnen…</translation>
    </message>
    <message>
        <source>Add folder to the list…</source>
        <translation>Ordner zur Liste hinzufügen…</translation>
    </message>
    <message>
        <source>Add an endpoint…</source>
        <translation>Endpunkt hinzufügen…</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Erneut versuchen</translation>
    </message>
    <message>
        <source>Searching the hub…</source>
        <translation>Der Hub wird durchsucht…</translation>
    </message>
    <message>
        <source>No model has this name, here or on the hub. Try fewer letters.</source>
        <translation>Kein Modell heißt so, weder hier noch auf dem Hub. Versuchen Sie es mit weniger Buchstaben.</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>Wird gesucht…</translation>
    </message>
    <message>
        <source>More results</source>
        <translation>Mehr Ergebnisse</translation>
    </message>
    <message>
        <source>{model} is no longer on the hub, so it is not listed.</source>
        <translation>{model} ist nicht mehr auf dem Hub und steht deshalb nicht mehr in der Liste.</translation>
    </message>
    <message>
        <source>{place} can&apos;t be opened here.</source>
        <translation>{place} kann hier nicht geöffnet werden.</translation>
    </message>
    <message>
        <source>{title} was deleted, which freed {size}.</source>
        <translation>{title} wurde gelöscht; {size} sind wieder frei.</translation>
    </message>
    <message>
        <source>{name} can be used now.</source>
        <translation>{name} kann jetzt benutzt werden.</translation>
    </message>
    <message>
        <source>This system has no keyring that Bough can use, so the key is kept only until Bough ends.</source>
        <translation>Dieses System hat keinen Schlüsselbund, den Bough nutzen kann. Der Schlüssel wird daher nur behalten, bis Bough endet.</translation>
    </message>
    <message>
        <source>{name} was removed, with its key. Conversations keep its answers.</source>
        <translation>{name} wurde entfernt, samt Schlüssel. Gespräche behalten seine Antworten.</translation>
    </message>
    <message>
        <source>Open a GGUF file</source>
        <translation>Eine GGUF-Datei öffnen</translation>
    </message>
    <message>
        <source>GGUF models (*.gguf)</source>
        <translation>GGUF-Modelle (*.gguf)</translation>
    </message>
    <message>
        <source>Add a folder with models</source>
        <translation>Einen Ordner mit Modellen hinzufügen</translation>
    </message>
</context>
<context>
    <name>MoveWindow</name>
    <message>
        <source>Move to another computer</source>
        <translation>Auf einen anderen Computer umziehen</translation>
    </message>
    <message>
        <source>One file moves everything to another computer: conversations, the trash, projects, settings, presets and hooks. It does not contain models and keys.</source>
        <translation>Eine Datei bringt alles auf einen anderen Computer: Gespräche, Papierkorb, Projekte, Einstellungen, Profile und Hooks. Modelle und Schlüssel enthält sie nicht.</translation>
    </message>
    <message>
        <source>Reading such a file overwrites no conversations: new messages are added to those on this computer. The present settings are saved in a file first.</source>
        <translation>Eine solche Datei zu lesen überschreibt keine Gespräche: Neue Nachrichten kommen zu denen auf diesem Computer hinzu. Die jetzigen Einstellungen werden vorher in einer Datei gesichert.</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Esc</source>
        <translation>Esc</translation>
    </message>
    <message>
        <source>Read a file…</source>
        <translation>Datei lesen…</translation>
    </message>
    <message>
        <source>Write the file…</source>
        <translation>Datei schreiben…</translation>
    </message>
    <message>
        <source>All data of Bough ({})</source>
        <translation>Alle Daten von Bough ({})</translation>
    </message>
    <message>
        <source>Writing the file…</source>
        <translation>Die Datei wird geschrieben…</translation>
    </message>
    <message>
        <source>Reading the file…</source>
        <translation>Die Datei wird gelesen…</translation>
    </message>
    <message>
        <source>Nothing was read.</source>
        <translation>Es wurde nichts gelesen.</translation>
    </message>
    <message>
        <source>Importing the conversations…</source>
        <translation>Die Gespräche werden importiert…</translation>
    </message>
</context>
<context>
    <name>NoteView</name>
    <message>
        <source>Contents</source>
        <translation>Inhalt</translation>
    </message>
    <message>
        <source>Show or hide this note</source>
        <translation>Notiz ein- oder ausblenden</translation>
    </message>
    <message>
        <source>1 token</source>
        <translation>1 Token</translation>
    </message>
    <message>
        <source>{num} tokens</source>
        <translation>{num} Token</translation>
    </message>
    <message>
        <source>Save “{name}” ({size})…</source>
        <translation>„{name}“ speichern ({size})…</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Speichern</translation>
    </message>
    <message>
        <source>{file} could not be written ({why}).</source>
        <translation>{file} konnte nicht geschrieben werden ({why}).</translation>
    </message>
</context>
<context>
    <name>NoticeCommands</name>
    <message>
        <source>Your unfinished text is kept. Edit the message to continue with it.</source>
        <translation>Ihr unfertiger Text ist aufbewahrt. Bearbeiten Sie die Nachricht, um damit fortzufahren.</translation>
    </message>
    <message>
        <source>The page is {}. It can&apos;t be opened here.</source>
        <translation>Die Seite ist {}. Sie lässt sich hier nicht öffnen.</translation>
    </message>
    <message>
        <source>The file is in {}. The folder can&apos;t be opened here.</source>
        <translation>Die Datei liegt in {}. Der Ordner kann hier nicht geöffnet werden.</translation>
    </message>
</context>
<context>
    <name>Numbers</name>
    <message>
        <source>bytes</source>
        <translation>Byte</translation>
    </message>
</context>
<context>
    <name>Palette</name>
    <message>
        <source>Command palette</source>
        <translation>Befehlspalette</translation>
    </message>
    <message>
        <source>Command, conversation, model</source>
        <translation>Befehl, Gespräch, Modell</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>Suchen</translation>
    </message>
    <message>
        <source>Results</source>
        <translation>Ergebnisse</translation>
    </message>
    <message>
        <source>No results. Try fewer letters.</source>
        <translation>Keine Ergebnisse. Versuchen Sie es mit weniger Buchstaben.</translation>
    </message>
</context>
<context>
    <name>PaletteCommands</name>
    <message>
        <source>Pinned branch</source>
        <translation>Angehefteter Zweig</translation>
    </message>
    <message>
        <source>Conversation</source>
        <translation>Gespräch</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Preset</source>
        <translation>Profil</translation>
    </message>
</context>
<context>
    <name>PartsPopover</name>
    <message>
        <source>Parts of the file</source>
        <translation>Teile der Datei</translation>
    </message>
    <message>
        <source>All</source>
        <translation>Alle</translation>
    </message>
    <message>
        <source>None</source>
        <translation>Keine</translation>
    </message>
    <message>
        <source>First ones that fit</source>
        <translation>Die ersten, die passen</translation>
    </message>
    <message>
        <source>about {num} tokens</source>
        <translation>etwa {num} Token</translation>
    </message>
    <message>
        <source>Chosen: about {num} tokens</source>
        <translation>Ausgewählt: etwa {num} Token</translation>
    </message>
    <message>
        <source>Chosen: about {num} tokens. There is room for {room}.</source>
        <translation>Ausgewählt: etwa {num} Token. Platz ist für {room}.</translation>
    </message>
    <message>
        <source>Beginning</source>
        <translation>Anfang</translation>
    </message>
    <message>
        <source>Page {numbers}</source>
        <translation>Seite {numbers}</translation>
    </message>
    <message>
        <source>Chapter {numbers}</source>
        <translation>Kapitel {numbers}</translation>
    </message>
    <message>
        <source>Line {numbers}</source>
        <translation>Zeile {numbers}</translation>
    </message>
    <message>
        <source>Lines {numbers}</source>
        <translation>Zeilen {numbers}</translation>
    </message>
</context>
<context>
    <name>PinnedBranches</name>
    <message>
        <source>Pinned branches</source>
        <translation>Angeheftete Zweige</translation>
    </message>
    <message>
        <source>Unpin (Del)</source>
        <translation>Nicht mehr anheften (Entf)</translation>
    </message>
</context>
<context>
    <name>PrefillProgress</name>
    <message>
        <source>Reading</source>
        <translation>Lesen</translation>
    </message>
    <message>
        <source>generating the first word</source>
        <translation>das erste Wort wird erzeugt</translation>
    </message>
    <message>
        <source>generating the next word</source>
        <translation>das nächste Wort wird erzeugt</translation>
    </message>
    <message>
        <source>reading {done} of {total} tokens</source>
        <translation>liest {done} von {total} Token</translation>
    </message>
    <message>
        <source>{kept} kept</source>
        <translation>{kept} im Cache</translation>
    </message>
    <message>
        <source>stopping…</source>
        <translation>wird gestoppt…</translation>
    </message>
</context>
<context>
    <name>PresetBar</name>
    <message>
        <source>Preset</source>
        <translation>Profil</translation>
    </message>
    <message>
        <source>Named sampling settings</source>
        <translation>Sampling-Einstellungen mit Namen</translation>
    </message>
    <message>
        <source>Save as…</source>
        <translation>Speichern als…</translation>
    </message>
    <message>
        <source>Save these settings under a name</source>
        <translation>Diese Einstellungen unter einem Namen speichern</translation>
    </message>
    <message>
        <source>Update</source>
        <translation>Aktualisieren</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>Preset name</source>
        <translation>Name des Profils</translation>
    </message>
    <message>
        <source>Name for these settings</source>
        <translation>Name für diese Einstellungen</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Speichern</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Custom</source>
        <translation>Eigene Einstellungen</translation>
    </message>
    <message>
        <source>{name}, changed</source>
        <translation>{name}, geändert</translation>
    </message>
    <message>
        <source>Save these settings as “{name}”</source>
        <translation>Diese Einstellungen als „{name}“ speichern</translation>
    </message>
    <message>
        <source>Delete “{name}”; the settings here stay</source>
        <translation>„{name}“ löschen; die Einstellungen hier bleiben</translation>
    </message>
    <message>
        <source>Replace</source>
        <translation>Ersetzen</translation>
    </message>
    <message>
        <source>This preset comes with Bough; choose another name</source>
        <translation>Dieses Profil gehört zu Bough; wählen Sie einen anderen Namen</translation>
    </message>
    <message>
        <source>There is no room for another preset; delete one first</source>
        <translation>Für ein weiteres Profil ist kein Platz; löschen Sie zuerst eines</translation>
    </message>
    <message>
        <source>Precise</source>
        <translation>Präzise</translation>
    </message>
    <message>
        <source>Balanced</source>
        <translation>Ausgewogen</translation>
    </message>
    <message>
        <source>Creative</source>
        <translation>Kreativ</translation>
    </message>
    <message>
        <source>Wild</source>
        <translation>Wild</translation>
    </message>
</context>
<context>
    <name>Printing</name>
    <message>
        <source>Print branch</source>
        <translation>Zweig drucken</translation>
    </message>
</context>
<context>
    <name>ProjectFiles</name>
    <message>
        <source>Files</source>
        <translation>Dateien</translation>
    </message>
    <message>
        <source>Add files…</source>
        <translation>Dateien hinzufügen…</translation>
    </message>
    <message>
        <source>Or drop them here</source>
        <translation>Oder hier ablegen</translation>
    </message>
    <message>
        <source>Add files</source>
        <translation>Dateien hinzufügen</translation>
    </message>
    <message>
        <source>{num} of {total} parts</source>
        <translation>{num} von {total} Teilen</translation>
    </message>
    <message>
        <source>1 token</source>
        <translation>1 Token</translation>
    </message>
    <message>
        <source>{num} tokens</source>
        <translation>{num} Token</translation>
    </message>
    <message>
        <source>{name} · reading…</source>
        <translation>{name} · wird gelesen…</translation>
    </message>
</context>
<context>
    <name>ProjectWindow</name>
    <message>
        <source>Project</source>
        <translation>Projekt</translation>
    </message>
    <message>
        <source>New project</source>
        <translation>Neues Projekt</translation>
    </message>
    <message>
        <source>What the model should know or do in every conversation here</source>
        <translation>Was das Modell in jedem Gespräch hier wissen oder tun soll</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Esc</source>
        <translation>Esc</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Speichern</translation>
    </message>
    <message>
        <source>New conversations here begin with these instructions and files. The model reads them once.</source>
        <translation>Neue Gespräche hier beginnen mit diesen Anweisungen und Dateien. Das Modell liest sie einmal.</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>Instructions</source>
        <translation>Anweisungen</translation>
    </message>
    <message>
        <source>The system prompt of new conversations here</source>
        <translation>Der Systemprompt neuer Gespräche hier</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>Dateien</translation>
    </message>
    <message>
        <source>Every new conversation here begins with these files</source>
        <translation>Jedes neue Gespräch hier beginnt mit diesen Dateien</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>The model that answers new conversations here</source>
        <translation>Das Modell, das in neuen Gesprächen hier antwortet</translation>
    </message>
    <message>
        <source>Sampling</source>
        <translation>Sampling</translation>
    </message>
    <message>
        <source>For conversations here that have no settings of their own</source>
        <translation>Für Gespräche hier ohne eigene Einstellungen</translation>
    </message>
    <message>
        <source>The model chosen for new conversations</source>
        <translation>Das Modell für neue Gespräche</translation>
    </message>
    <message>
        <source>The app&apos;s default</source>
        <translation>Standardeinstellungen</translation>
    </message>
    <message>
        <source>Custom</source>
        <translation>Eigene Einstellungen</translation>
    </message>
    <message>
        <source>{name}, changed</source>
        <translation>{name}, geändert</translation>
    </message>
    <message>
        <source>As in the open conversation</source>
        <translation>Wie im offenen Gespräch</translation>
    </message>
    <message>
        <source>A new conversation: {cost}</source>
        <translation>Ein neues Gespräch: {cost}</translation>
    </message>
    <message>
        <source>There is already a project “{name}”.</source>
        <translation>Es gibt schon ein Projekt „{name}“.</translation>
    </message>
</context>
<context>
    <name>ReadAgain</name>
    <message>
        <source>The tools had changed since the last request, so all text after them was read again.</source>
        <translation>Die Tools hatten sich seit der letzten Anfrage geändert, deshalb wurde der ganze Text danach erneut gelesen.</translation>
    </message>
    <message>
        <source>The prompt was read again: it was no longer kept, or the chat template changed it.</source>
        <translation>Der Prompt wurde erneut gelesen: Er war nicht mehr im Cache, oder die Chatvorlage hat ihn verändert.</translation>
    </message>
    <message>
        <source>Message {} had changed since the last request, so all text from there on was read again.</source>
        <translation>Nachricht {} hatte sich seit der letzten Anfrage geändert, deshalb wurde der ganze Text ab dort erneut gelesen.</translation>
    </message>
    <message>
        <source>The system text had changed since the last request, so all text from there on was read again.</source>
        <translation>Der Systemtext hatte sich seit der letzten Anfrage geändert, deshalb wurde der ganze Text ab dort erneut gelesen.</translation>
    </message>
    <message>
        <source>tools changed</source>
        <translation>Tools geändert</translation>
    </message>
    <message>
        <source>no longer kept</source>
        <translation>nicht mehr im Cache</translation>
    </message>
    <message>
        <source>message {} changed</source>
        <translation>Nachricht {} geändert</translation>
    </message>
    <message>
        <source>system text changed</source>
        <translation>Systemtext geändert</translation>
    </message>
</context>
<context>
    <name>RegenerateMenu</name>
    <message>
        <source>Regenerate with</source>
        <translation>Neu erzeugen mit</translation>
    </message>
    <message>
        <source>Side by side</source>
        <translation>Nebeneinander</translation>
    </message>
    <message numerus="yes">
        <source>%n answer(s)</source>
        <translation>
            <numerusform>%n Antwort</numerusform>
            <numerusform>%n Antworten</numerusform>
        </translation>
    </message>
    <message>
        <source>Other sampling</source>
        <translation>Anderes Sampling</translation>
    </message>
    <message>
        <source>Another model</source>
        <translation>Anderes Modell</translation>
    </message>
</context>
<context>
    <name>ReplayWindow</name>
    <message>
        <source>Run again</source>
        <translation>Erneut ausführen</translation>
    </message>
    <message>
        <source>Running the answer again…</source>
        <translation>Die Antwort wird erneut erzeugt…</translation>
    </message>
    <message>
        <source>Each token is sampled again after the stored tokens before it, with the same seed and settings. The conversation does not change.</source>
        <translation>Jedes Token wird nach den gespeicherten Token davor erneut gesampelt, mit demselben Seed und denselben Einstellungen. Das Gespräch ändert sich nicht.</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Esc</source>
        <translation>Esc</translation>
    </message>
    <message>
        <source>Sampling…</source>
        <translation>Token werden gesampelt…</translation>
    </message>
    <message>
        <source>The same model, libraries, seed and settings.</source>
        <translation>Dasselbe Modell, dieselben Bibliotheken, derselbe Seed und dieselben Einstellungen.</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Close (Esc)</source>
        <translation>Schließen (Esc)</translation>
    </message>
    <message>
        <source>Token</source>
        <translation>Token</translation>
    </message>
    <message>
        <source>Before</source>
        <translation>Zuvor</translation>
    </message>
    <message>
        <source>Now</source>
        <translation>Jetzt</translation>
    </message>
    <message>
        <source>the end</source>
        <translation>das Ende</translation>
    </message>
</context>
<context>
    <name>ReportWindow</name>
    <message>
        <source>The report can&apos;t be read ({}).</source>
        <translation>Der Bericht lässt sich nicht lesen ({}).</translation>
    </message>
    <message>
        <source>Crash report</source>
        <translation>Absturzbericht</translation>
    </message>
    <message>
        <source>The report contains none of your texts and was not sent to anyone. If you report the problem, include a copy of it.</source>
        <translation>Der Bericht enthält keinen Ihrer Texte und wurde an niemanden gesendet. Wenn Sie das Problem melden, fügen Sie ihn bei.</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Copied.</source>
        <translation>Kopiert.</translation>
    </message>
    <message>
        <source>The report can&apos;t be deleted ({}).</source>
        <translation>Der Bericht lässt sich nicht löschen ({}).</translation>
    </message>
</context>
<context>
    <name>SamplingPanel</name>
    <message>
        <source>Sampling</source>
        <translation>Sampling</translation>
    </message>
    <message>
        <source>all</source>
        <translation>alle</translation>
    </message>
    <message>
        <source>off</source>
        <translation>aus</translation>
    </message>
    <message>
        <source>random</source>
        <translation>zufällig</translation>
    </message>
    <message>
        <source>A seed is a whole number from 0 to 9,223,372,036,854,775,807.</source>
        <translation>Ein Seed ist eine ganze Zahl von 0 bis 9.223.372.036.854.775.807.</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>Automatisch</translation>
    </message>
    <message>
        <source>From the tree</source>
        <translation>Aus dem Baum</translation>
    </message>
    <message>
        <source>Off</source>
        <translation>Aus</translation>
    </message>
    <message>
        <source>Stop strings</source>
        <translation>Stoppsequenzen</translation>
    </message>
    <message>
        <source>Advanced</source>
        <translation>Erweitert</translation>
    </message>
    <message>
        <source>Hooks and drafts</source>
        <translation>Hooks und Entwürfe</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>Temperatur</translation>
    </message>
    <message>
        <source>0 always takes the likeliest token; higher values are more creative.</source>
        <translation>0 nimmt immer das wahrscheinlichste Token; höhere Werte sind kreativer.</translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation>Top-p</translation>
    </message>
    <message>
        <source>Sample from the likeliest tokens that together have this probability.</source>
        <translation>Nur aus den wahrscheinlichsten Token auswählen, die zusammen diese Wahrscheinlichkeit haben.</translation>
    </message>
    <message>
        <source>Top-k</source>
        <translation>Top-k</translation>
    </message>
    <message>
        <source>Sample from this many of the likeliest tokens.</source>
        <translation>Nur aus so vielen der wahrscheinlichsten Token auswählen.</translation>
    </message>
    <message>
        <source>Several answers are shown side by side; keep one or all.</source>
        <translation>Mehrere Antworten erscheinen nebeneinander; behalten Sie eine oder alle.</translation>
    </message>
    <message>
        <source>Min-p</source>
        <translation>Min-p</translation>
    </message>
    <message>
        <source>Leave out tokens that are less likely than this share of the likeliest one.</source>
        <translation>Token weglassen, die unwahrscheinlicher sind als dieser Anteil des wahrscheinlichsten.</translation>
    </message>
    <message>
        <source>Repetition penalty</source>
        <translation>Wiederholungsstrafe</translation>
    </message>
    <message>
        <source>Make recent tokens less likely to repeat.</source>
        <translation>Wiederholungen der letzten Token unwahrscheinlicher machen.</translation>
    </message>
    <message>
        <source>Presence penalty</source>
        <translation>Präsenzstrafe</translation>
    </message>
    <message>
        <source>Make recently used tokens less likely; below 0, more likely.</source>
        <translation>Kürzlich verwendete Token unwahrscheinlicher machen; unter 0 wahrscheinlicher.</translation>
    </message>
    <message>
        <source>Frequency penalty</source>
        <translation>Häufigkeitsstrafe</translation>
    </message>
    <message>
        <source>Like the presence penalty, but stronger the more often a token was used.</source>
        <translation>Wie die Präsenzstrafe, aber umso stärker, je öfter ein Token verwendet wurde.</translation>
    </message>
    <message>
        <source>Maximum tokens</source>
        <translation>Maximale Token</translation>
    </message>
    <message>
        <source>The answer stops there; Continue writes more.</source>
        <translation>Die Antwort endet dort; „Fortsetzen“ schreibt weiter.</translation>
    </message>
    <message>
        <source>Answers at once</source>
        <translation>Antworten auf einmal</translation>
    </message>
    <message>
        <source>Answered by</source>
        <translation>Es antworten</translation>
    </message>
    <message>
        <source>Several models answer one after another.</source>
        <translation>Mehrere Modelle antworten nacheinander.</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>Seed</translation>
    </message>
    <message>
        <source>The same seed and question give the same answer.</source>
        <translation>Derselbe Seed und dieselbe Frage ergeben dieselbe Antwort.</translation>
    </message>
    <message>
        <source>Think first</source>
        <translation>Zuerst nachdenken</translation>
    </message>
    <message>
        <source>Drafts</source>
        <translation>Entwürfe</translation>
    </message>
    <message>
        <source>Default (on)</source>
        <translation>Standard (an)</translation>
    </message>
    <message>
        <source>Default (off)</source>
        <translation>Standard (aus)</translation>
    </message>
    <message>
        <source>Draft model</source>
        <translation>Entwurfsmodell</translation>
    </message>
    <message>
        <source>The predicted tokens come from {model}, or from other answers in the tree.</source>
        <translation>Die vorhergesagten Token stammen von {model} oder aus anderen Antworten im Baum.</translation>
    </message>
    <message>
        <source>The predicted tokens come from a draft model, if one is chosen in the Models menu, or from other answers in the tree.</source>
        <translation>Die vorhergesagten Token stammen von einem Entwurfsmodell, wenn im Menü „Modelle“ eines gewählt ist, oder aus anderen Antworten im Baum.</translation>
    </message>
    <message>
        <source>Predicted tokens that the model checks all at once. They change the speed, not the answer.</source>
        <translation>Vorhergesagte Token, die das Modell auf einmal prüft. Sie ändern das Tempo, nicht die Antwort.</translation>
    </message>
    <message>
        <source>The answer ends before the first of these strings.</source>
        <translation>Die Antwort endet vor der ersten dieser Zeichenfolgen.</translation>
    </message>
    <message>
        <source>Hooks</source>
        <translation>Hooks</translation>
    </message>
    <message>
        <source>Python code that checks each token and can take it back. Hooks run from top to bottom.</source>
        <translation>Python-Code, der jedes Token prüft und zurücknehmen kann. Hooks laufen von oben nach unten.</translation>
    </message>
    <message>
        <source>These settings apply to this conversation, starting with the next answer.</source>
        <translation>Diese Einstellungen gelten für dieses Gespräch, ab der nächsten Antwort.</translation>
    </message>
    <message>
        <source>Reset to default</source>
        <translation>Zurücksetzen</translation>
    </message>
    <message>
        <source>Use the settings of new conversations</source>
        <translation>Die Einstellungen neuer Gespräche verwenden</translation>
    </message>
    <message>
        <source>Make default</source>
        <translation>Als Standard festlegen</translation>
    </message>
    <message>
        <source>Use these settings for new conversations</source>
        <translation>Diese Einstellungen für neue Gespräche verwenden</translation>
    </message>
    <message>
        <source>On</source>
        <translation>An</translation>
    </message>
    <message>
        <source>Whether the model thinks before it answers.</source>
        <translation>Ob das Modell nachdenkt, bevor es antwortet.</translation>
    </message>
</context>
<context>
    <name>Search</name>
    <message>
        <source>Search results</source>
        <translation>Suchergebnisse</translation>
    </message>
    <message>
        <source>You</source>
        <translation>Sie</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Antwort</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>Note</source>
        <translation>Notiz</translation>
    </message>
    <message>
        <source>File</source>
        <translation>Datei</translation>
    </message>
    <message>
        <source>version {number} of {all}</source>
        <translation>Version {number} von {all}</translation>
    </message>
    <message>
        <source>branch “{name}”</source>
        <translation>Zweig „{name}“</translation>
    </message>
    <message>
        <source>starred</source>
        <translation>mit Stern</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>angeheftet</translation>
    </message>
</context>
<context>
    <name>SearchChips</name>
    <message>
        <source>Filter by author</source>
        <translation>Nach Autor filtern</translation>
    </message>
    <message>
        <source>Filter by date</source>
        <translation>Nach Datum filtern</translation>
    </message>
    <message>
        <source>Filter by model</source>
        <translation>Nach Modell filtern</translation>
    </message>
    <message>
        <source>Starred</source>
        <translation>Mit Stern</translation>
    </message>
    <message>
        <source>Only starred messages (is:starred)</source>
        <translation>Nur Nachrichten mit Stern (is:starred)</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>Angeheftet</translation>
    </message>
    <message>
        <source>Only pinned messages (is:pinned)</source>
        <translation>Nur angeheftete Nachrichten (is:pinned)</translation>
    </message>
    <message>
        <source>Anyone</source>
        <translation>Alle</translation>
    </message>
    <message>
        <source>You</source>
        <translation>Sie</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>Antworten</translation>
    </message>
    <message>
        <source>System prompts</source>
        <translation>Systemprompts</translation>
    </message>
    <message>
        <source>Notes</source>
        <translation>Notizen</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>Dateien</translation>
    </message>
    <message>
        <source>Any time</source>
        <translation>Jederzeit</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>Heute</translation>
    </message>
    <message>
        <source>Last seven days</source>
        <translation>Letzte sieben Tage</translation>
    </message>
    <message>
        <source>Last 30 days</source>
        <translation>Letzte 30 Tage</translation>
    </message>
    <message>
        <source>Last year</source>
        <translation>Letztes Jahr</translation>
    </message>
    <message>
        <source>before {day}</source>
        <translation>vor dem {day}</translation>
    </message>
    <message>
        <source>Any model</source>
        <translation>Jedes Modell</translation>
    </message>
    <message>
        <source>since {day}</source>
        <translation>seit dem {day}</translation>
    </message>
</context>
<context>
    <name>SearchPanel</name>
    <message>
        <source>Search all conversations</source>
        <translation>Alle Gespräche durchsuchen</translation>
    </message>
    <message>
        <source>Search all messages in all branches</source>
        <translation>Alle Nachrichten in allen Zweigen durchsuchen</translation>
    </message>
    <message>
        <source>Close the search</source>
        <translation>Suche schließen</translation>
    </message>
    <message>
        <source>Close (Esc)</source>
        <translation>Schließen (Esc)</translation>
    </message>
    <message numerus="yes">
        <source>First %n message(s). Add words to narrow the search.</source>
        <translation>
            <numerusform>Erste %n Nachricht. Weitere Wörter grenzen die Suche ein.</numerusform>
            <numerusform>Erste %n Nachrichten. Weitere Wörter grenzen die Suche ein.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n message(s). Press Enter to go there.</source>
        <translation>
            <numerusform>%n Nachricht. Mit der Eingabetaste springen Sie dorthin.</numerusform>
            <numerusform>%n Nachrichten. Mit der Eingabetaste springen Sie zur ausgewählten.</numerusform>
        </translation>
    </message>
    <message>
        <source>The search index is still being written. Some old or long messages are not found yet.</source>
        <translation>Das Suchverzeichnis wird noch geschrieben. Einige alte oder lange Nachrichten werden noch nicht gefunden.</translation>
    </message>
    <message>
        <source>No results with these filters. Remove a filter to find more.</source>
        <translation>Keine Ergebnisse mit diesen Filtern. Entfernen Sie einen Filter, um mehr zu finden.</translation>
    </message>
    <message>
        <source>No results in any branch. Messages in the trash are not searched.</source>
        <translation>Keine Ergebnisse in allen Zweigen. Nachrichten im Papierkorb werden nicht durchsucht.</translation>
    </message>
    <message>
        <source>Searches all messages in all branches of all conversations, except in the trash.

Enter words, “a phrase”, or the beginn* of a word.
Narrow the search with from:you, from:answer, is:starred, is:pinned, model:guide, after:2026-01-31, before:2026-03-01.</source>
        <translation>Durchsucht alle Nachrichten in allen Zweigen aller Gespräche, außer im Papierkorb.

Geben Sie Wörter, „eine Wortfolge“ oder den Anfa* eines Worts ein.
Grenzen Sie die Suche ein mit from:you, from:answer, is:starred, is:pinned, model:guide, after:2026-01-31, before:2026-03-01.</translation>
    </message>
</context>
<context>
    <name>Sections</name>
    <message>
        <source>Pinned</source>
        <translation>Angeheftet</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>Heute</translation>
    </message>
    <message>
        <source>Yesterday</source>
        <translation>Gestern</translation>
    </message>
    <message>
        <source>This week</source>
        <translation>Diese Woche</translation>
    </message>
    <message>
        <source>Older</source>
        <translation>Älter</translation>
    </message>
    <message>
        <source>Archive</source>
        <translation>Archiv</translation>
    </message>
</context>
<context>
    <name>SelectionCommands</name>
    <message>
        <source>Copy all messages</source>
        <translation>Alle Nachrichten kopieren</translation>
    </message>
</context>
<context>
    <name>Sentences</name>
    <message>
        <source>1 message was pruned.</source>
        <translation>1 Nachricht wurde entfernt.</translation>
    </message>
    <message>
        <source>Another Bough has these conversations open, so nothing was deleted. Close it, then empty the trash again.</source>
        <translation>Bough läuft schon ein zweites Mal mit diesen Gesprächen, deshalb wurde nichts gelöscht. Schließen Sie das andere Bough, und leeren Sie den Papierkorb dann noch einmal.</translation>
    </message>
    <message>
        <source>Another program is writing to {path}. Nothing was changed. Close it, or try again in a moment.</source>
        <translation>Ein anderes Programm schreibt gerade in {path}. Es wurde nichts geändert. Schließen Sie es, oder versuchen Sie es gleich noch einmal.</translation>
    </message>
    <message>
        <source>No model is loaded now.</source>
        <translation>Zurzeit ist kein Modell geladen.</translation>
    </message>
    <message>
        <source>The conversations in {path} can&apos;t be used ({error}). Nothing was changed. Check the disk, then try again.</source>
        <translation>Die Gespräche in {path} können nicht verwendet werden ({error}). Es wurde nichts geändert. Prüfen Sie den Datenträger, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>The model process did not stop within {num} seconds.</source>
        <translation>Der Modellprozess ließ sich nicht innerhalb von {num} Sekunden beenden.</translation>
    </message>
    <message>
        <source>The model process has not responded since {time}. Last report: {activity}. Wait, or restart it: the model is then loaded again, and the text so far is kept.</source>
        <translation>Der Modellprozess reagiert seit {time} nicht. Letzte Meldung: {activity}. Warten Sie, oder starten Sie ihn neu: Dann wird das Modell neu geladen, und der bisherige Text bleibt erhalten.</translation>
    </message>
    <message>
        <source>The model process stopped unexpectedly ({how}).</source>
        <translation>Der Modellprozess wurde unerwartet beendet ({how}).</translation>
    </message>
    <message>
        <source>The prompt is empty. Enter some text.</source>
        <translation>Der Prompt ist leer. Geben Sie einen Text ein.</translation>
    </message>
    <message>
        <source>The settings could not be saved ({error}). Bough tries again. If you close it before it succeeds, your changes are lost.</source>
        <translation>Die Einstellungen konnten nicht gespeichert werden ({error}). Bough versucht es weiter. Wenn Sie Bough vorher schließen, gehen Ihre Änderungen verloren.</translation>
    </message>
    <message>
        <source>The weight file {file} is damaged ({error}). Download it again, then open the folder again.</source>
        <translation>Die Gewichtsdatei {file} ist beschädigt ({error}). Laden Sie sie noch einmal herunter, und öffnen Sie den Ordner dann erneut.</translation>
    </message>
    <message>
        <source>The model process is shutting down. Start a new one.</source>
        <translation>Der Modellprozess wird gerade beendet. Starten Sie einen neuen.</translation>
    </message>
    <message>
        <source>Bough stopped unexpectedly. Your texts are kept. There is a report on this computer; it was not sent to anyone.</source>
        <translation>Bough wurde unerwartet beendet. Ihre Texte sind erhalten. Auf diesem Computer liegt ein Bericht; er wurde an niemanden gesendet.</translation>
    </message>
    <message>
        <source>Messages left out, because they belong to no pair of answers: {num}.</source>
        <translation>Nachrichten weggelassen, weil sie zu keinem Paar von Antworten gehören: {num}.</translation>
    </message>
    <message>
        <source>Questions and results of tools left out, because no finished answer follows them: {num}.</source>
        <translation>Fragen und Tool-Ergebnisse weggelassen, weil keine fertige Antwort auf sie folgt: {num}.</translation>
    </message>
    <message>
        <source>The conversations in {path} can&apos;t be copied ({error}). No file was written. Run `bough doctor` to find out more.</source>
        <translation>Die Gespräche in {path} lassen sich nicht kopieren ({error}). Es wurde keine Datei geschrieben. `bough doctor` zeigt mehr.</translation>
    </message>
    <message>
        <source>The model process stopped unexpectedly ({how}). There is a report on this computer; it was not sent to anyone.</source>
        <translation>Der Modellprozess wurde unerwartet beendet ({how}). Auf diesem Computer liegt ein Bericht; er wurde an niemanden gesendet.</translation>
    </message>
    <message>
        <source>With a cache of {num_bits} bits (on the model&apos;s page), all of it would fit.</source>
        <translation>Mit einem {num_bits}-Bit-Cache (auf der Seite des Modells) würde alles passen.</translation>
    </message>
    <message>
        <source>`messages` is empty. Send at least one message.</source>
        <translation>Es gibt keine Nachricht. Senden Sie mindestens eine.</translation>
    </message>
    <message>
        <source>a comment between its messages is damaged</source>
        <translation>ein Kommentar zwischen seinen Nachrichten ist beschädigt</translation>
    </message>
    <message>
        <source>branches of prompts in Google AI Studio; each joins its prompt when that is imported too</source>
        <translation>Zweige von Prompts aus Google AI Studio; jeder kommt zu seinem Prompt, wenn auch dieser importiert wird</translation>
    </message>
    <message>
        <source>chat records (OpenAI, ShareGPT)</source>
        <translation>Chatprotokolle (OpenAI, ShareGPT)</translation>
    </message>
    <message>
        <source>it describes a thread of Jan, whose messages are in “messages.jsonl” in the same folder, if any</source>
        <translation>sie beschreibt einen Verlauf von Jan, dessen Nachrichten in „messages.jsonl“ im selben Ordner stehen, falls es welche gibt</translation>
    </message>
    <message>
        <source>it has no messages</source>
        <translation>enthält keine Nachrichten</translation>
    </message>
    <message>
        <source>it is too long to be imported as a chat transcript</source>
        <translation>die Datei ist zu lang, um als Gesprächsverlauf importiert zu werden</translation>
    </message>
    <message>
        <source>its messages are missing</source>
        <translation>die Nachrichten fehlen</translation>
    </message>
    <message>
        <source>its program did not finish a change; open the file once in that program, then import it</source>
        <translation>ihr Programm hat eine Änderung nicht abgeschlossen; öffnen Sie die Datei einmal in diesem Programm, und importieren Sie sie dann</translation>
    </message>
    <message>
        <source>its “{name}” is not a plain table, so Bough does not read it</source>
        <translation>ihr „{name}“ ist keine einfache Tabelle, darum liest Bough es nicht</translation>
    </message>
    <message>
        <source>lines of Claude Code that are not messages, left out</source>
        <translation>Zeilen von Claude Code, die keine Nachrichten sind, weggelassen</translation>
    </message>
    <message>
        <source>lines of Codex that are not messages, left out</source>
        <translation>Zeilen von Codex, die keine Nachrichten sind, weggelassen</translation>
    </message>
    <message>
        <source>lines of llama.cpp that are not messages, left out</source>
        <translation>Zeilen von llama.cpp, die keine Nachrichten sind, weggelassen</translation>
    </message>
    <message>
        <source>messages that are only in Open WebUI&apos;s table of messages, added from there</source>
        <translation>Nachrichten, die nur in der Nachrichtentabelle von Open WebUI stehen, von dort ergänzt</translation>
    </message>
    <message>
        <source>messages that have an answer here and more parts in the file, left unchanged</source>
        <translation>Nachrichten, die hier schon beantwortet sind und in der Datei mehr Teile haben, unverändert gelassen</translation>
    </message>
    <message>
        <source>pictures and files, stored with their messages</source>
        <translation>Bilder und Dateien, zusammen mit ihren Nachrichten gespeichert</translation>
    </message>
    <message>
        <source>records of activity other than Gemini&apos;s, left out</source>
        <translation>Einträge anderer Aktivitäten als mit Gemini, weggelassen</translation>
    </message>
    <message>
        <source>references to sources and pictures that the file does not contain, left out</source>
        <translation>Verweise auf Quellen und Bilder, die die Datei nicht enthält, weggelassen</translation>
    </message>
    <message>
        <source>the end of the answer</source>
        <translation>das Ende der Antwort</translation>
    </message>
    <message>
        <source>the pages could not be painted</source>
        <translation>die Seiten konnten nicht gezeichnet werden</translation>
    </message>
    <message>
        <source>the tensor {name} occurs twice</source>
        <translation>der Tensor {name} kommt zweimal vor</translation>
    </message>
    <message>
        <source>unreadable origins in other programs, left out</source>
        <translation>unlesbare Angaben zur Herkunft aus anderen Programmen, weggelassen</translation>
    </message>
    <message>
        <source>{file} can&apos;t be read ({error}). Download the model again.</source>
        <translation>{file} kann nicht gelesen werden ({error}). Laden Sie das Modell noch einmal herunter.</translation>
    </message>
    <message>
        <source>{file} can&apos;t be read ({error}). Nothing was changed.</source>
        <translation>{file} kann nicht gelesen werden ({error}). Es wurde nichts geändert.</translation>
    </message>
    <message>
        <source>{file} comes from a newer version of Bough. Nothing was changed. Import it with that version.</source>
        <translation>{file} stammt aus einer neueren Version von Bough. Es wurde nichts geändert. Importieren Sie die Datei mit der neueren Version.</translation>
    </message>
    <message>
        <source>{file} is nested too deeply to be read.</source>
        <translation>{file} ist zu tief verschachtelt, um gelesen zu werden.</translation>
    </message>
    <message>
        <source>{file} is not a settings file of Bough, or it is damaged ({error}). Nothing was changed.</source>
        <translation>{file} ist keine Einstellungsdatei von Bough, oder sie ist beschädigt ({error}). Es wurde nichts geändert.</translation>
    </message>
    <message>
        <source>{file} needs {total_bytes} on the disk, but less is free. Nothing was changed.</source>
        <translation>{file} braucht {total_bytes} auf der Festplatte, aber so viel ist nicht frei. Es wurde nichts geändert.</translation>
    </message>
    <message>
        <source>{folder} is already being written. Wait until it is complete.</source>
        <translation>{folder} wird gerade schon geschrieben. Warten Sie, bis der Ordner vollständig ist.</translation>
    </message>
    <message>
        <source>{host} does not accept the access token. Enter another one, or remove it: most models need none.</source>
        <translation>{host} nimmt das Zugriffstoken nicht an. Geben Sie ein anderes ein, oder entfernen Sie es: Die meisten Modelle brauchen keines.</translation>
    </message>
    <message>
        <source>{host} does not seem to be a hub for models. Check HF_ENDPOINT and the proxy, then try again.</source>
        <translation>{host} scheint kein Hub für Modelle zu sein. Prüfen Sie HF_ENDPOINT und den Proxy, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>{host} requires you to log in. Enter an access token, then try again.</source>
        <translation>{host} verlangt eine Anmeldung. Geben Sie ein Zugriffstoken ein, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>{model} could not be downloaded or converted: {why}</source>
        <translation>{model} konnte nicht heruntergeladen oder umgewandelt werden: {why}</translation>
    </message>
    <message>
        <source>{model} will not answer: {why}</source>
        <translation>{model} wird nicht antworten: {why}</translation>
    </message>
    <message>
        <source>{num_answers} answers at once take {need_bytes} more memory, but only {available_bytes} are free.</source>
        <translation>{num_answers} Antworten auf einmal brauchen {need_bytes} mehr Arbeitsspeicher, aber nur {available_bytes} sind frei.</translation>
    </message>
    <message>
        <source>{num_answers} answers at once take {need_bytes} of memory with the model, but models can use only {total_bytes} here.</source>
        <translation>{num_answers} Antworten auf einmal brauchen mit dem Modell {need_bytes} Arbeitsspeicher, aber Modelle können hier nur {total_bytes} verwenden.</translation>
    </message>
    <message>
        <source>{num_answers} at once would fit.</source>
        <translation>{num_answers} auf einmal würden passen.</translation>
    </message>
    <message>
        <source>{num_tokens} of its tokens were forced or chosen, not sampled, so they are not compared.</source>
        <translation>{num_tokens} ihrer Token wurden nicht gesampelt, sondern erzwungen oder gewählt; sie werden deshalb nicht verglichen.</translation>
    </message>
    <message>
        <source>{path} belongs to another program.</source>
        <translation>{path} gehört zu einem anderen Programm.</translation>
    </message>
    <message>
        <source>{path} contains an impossibly long list ({name}). Choose another file of this model.</source>
        <translation>{path} enthält eine unmöglich lange Liste ({name}). Wählen Sie eine andere Datei dieses Modells.</translation>
    </message>
    <message>
        <source>{path} contains an impossibly wide matrix ({name}). Choose another file of this model.</source>
        <translation>{path} enthält eine unmöglich breite Matrix ({name}). Wählen Sie eine andere Datei dieses Modells.</translation>
    </message>
    <message>
        <source>{path} contains an unknown tensor ({name}). Choose another file of this model.</source>
        <translation>{path} enthält einen unbekannten Tensor ({name}). Wählen Sie eine andere Datei dieses Modells.</translation>
    </message>
    <message>
        <source>{path} does not exist. It may have been moved or renamed.</source>
        <translation>{path} gibt es nicht. Vielleicht wurde es verschoben oder umbenannt.</translation>
    </message>
    <message>
        <source>{path} is empty.</source>
        <translation>{path} ist leer.</translation>
    </message>
    <message>
        <source>{path} is inconsistent: {how}. Download the file again, or choose another one.</source>
        <translation>{path} ist widersprüchlich: {how}. Laden Sie die Datei noch einmal herunter, oder wählen Sie eine andere.</translation>
    </message>
    <message>
        <source>{path} is part {number} of {count} of a model, but its name does not say so. Put all parts in one folder, with their original names (…-00001-of-{count_digits}.gguf).</source>
        <translation>{path} ist Teil {number} von {count} eines Modells, aber der Name sagt das nicht. Legen Sie alle Teile mit ihren ursprünglichen Namen (…-00001-of-{count_digits}.gguf) in einen Ordner.</translation>
    </message>
    <message>
        <source>{path} stores {name} as {type}, which Bough can&apos;t convert. Choose another quantization of this model.</source>
        <translation>{path} speichert {name} als {type}, was Bough nicht umwandeln kann. Wählen Sie eine andere Quantisierung dieses Modells.</translation>
    </message>
    <message>
        <source>{path} was changed while it was converted, so nothing was kept. Wait until it is complete, then try again.</source>
        <translation>{path} wurde während der Umwandlung verändert, deshalb wurde nichts gespeichert. Warten Sie, bis die Datei vollständig ist, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>{path} was changed while it was read. Wait until it is complete, then try again.</source>
        <translation>{path} wurde beim Lesen verändert. Warten Sie, bis die Datei vollständig ist, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>{problem} Other messages with similar problems: {num_more}.</source>
        <translation>{problem} Weitere Nachrichten mit ähnlichen Problemen: {num_more}.</translation>
    </message>
    <message>
        <source>{repo} is not on {host}, or it is private. If it is yours, enter an access token that may read it.</source>
        <translation>{repo} gibt es auf {host} nicht, oder es ist privat. Wenn es Ihnen gehört, geben Sie ein Zugriffstoken ein, das es lesen darf.</translation>
    </message>
    <message>
        <source>{server} does not apply JSON schemas: this answer is not JSON. The text is kept. Remove the answer format, or choose another model.</source>
        <translation>{server} wendet JSON-Schemas nicht an: Diese Antwort ist kein JSON. Der Text bleibt erhalten. Entfernen Sie das Antwortformat, oder wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>{server} does not stream its answers, so Bough can&apos;t show them while they are written. Switch on streaming there, or use another server.</source>
        <translation>{server} streamt seine Antworten nicht, daher kann Bough sie nicht zeigen, während sie entstehen. Schalten Sie dort das Streaming ein, oder verwenden Sie einen anderen Server.</translation>
    </message>
    <message>
        <source>{server} does not support OpenAI&apos;s API: its list of models can&apos;t be read. Check the address, which usually ends in /v1.</source>
        <translation>{server} unterstützt die API von OpenAI nicht: Die Liste der Modelle ist nicht lesbar. Prüfen Sie die Adresse, die meist auf /v1 endet.</translation>
    </message>
    <message>
        <source>{server} ended this answer because of an error, without saying which. The text so far is kept. Ask again.</source>
        <translation>{server} hat diese Antwort wegen eines Fehlers beendet, ohne ihn zu nennen. Der bisherige Text bleibt erhalten. Fragen Sie noch einmal.</translation>
    </message>
    <message>
        <source>{server} received too many requests, and accepts the next one in {seconds} seconds: {text}. Your message is kept.</source>
        <translation>{server} hat zu viele Anfragen erhalten und nimmt die nächste in {seconds} Sekunden an: {text}. Ihre Nachricht bleibt erhalten.</translation>
    </message>
    <message>
        <source>{server} received too many requests, and does not say when it accepts the next one: {text}. Your message is kept. Ask again in a minute.</source>
        <translation>{server} hat zu viele Anfragen erhalten und sagt nicht, wann die nächste möglich ist: {text}. Ihre Nachricht bleibt erhalten. Fragen Sie in einer Minute noch einmal.</translation>
    </message>
    <message>
        <source>{server} redirects requests to another address. Bough does not follow, because your messages go only to the address that you entered. Enter the other address if you trust it.</source>
        <translation>{server} leitet Anfragen an eine andere Adresse weiter. Bough folgt dem nicht, weil Ihre Nachrichten nur an die Adresse gehen, die Sie eingegeben haben. Geben Sie die andere Adresse ein, wenn Sie ihr vertrauen.</translation>
    </message>
    <message>
        <source>{server} refused the request ({status}): {text}. Your message is kept. Change the settings that it names, then ask again.</source>
        <translation>{server} hat die Anfrage abgelehnt ({status}): {text}. Ihre Nachricht bleibt erhalten. Ändern Sie die Einstellungen, die der Server nennt, und fragen Sie dann noch einmal.</translation>
    </message>
    <message>
        <source>{server} reported an internal error ({status}): {text}. Your message is kept. Ask again later.</source>
        <translation>{server} hat einen internen Fehler gemeldet ({status}): {text}. Ihre Nachricht bleibt erhalten. Fragen Sie später noch einmal.</translation>
    </message>
    <message>
        <source>{server} sent an event that can&apos;t be read ({error}). The text so far is kept. Check whether the server supports OpenAI&apos;s API.</source>
        <translation>{server} hat ein Ereignis gesendet, das nicht lesbar ist ({error}). Der bisherige Text bleibt erhalten. Prüfen Sie, ob der Server die API von OpenAI unterstützt.</translation>
    </message>
    <message>
        <source>{server} sent something other than a JSON object: {text}. The text so far is kept. Check the address, which usually ends in /v1.</source>
        <translation>{server} hat etwas anderes als ein JSON-Objekt gesendet: {text}. Der bisherige Text bleibt erhalten. Prüfen Sie die Adresse, die meist auf /v1 endet.</translation>
    </message>
    <message>
        <source>{why} Bough shows the backup {file}, which can&apos;t be changed.</source>
        <translation>{why} Bough zeigt die Sicherung {file}, die nicht geändert werden kann.</translation>
    </message>
    <message>
        <source>“{name}” can&apos;t be read ({error}).</source>
        <translation>„{name}“ kann nicht gelesen werden ({error}).</translation>
    </message>
    <message>
        <source>“{name}” can&apos;t be read, because its reader crashed. The file is probably damaged.</source>
        <translation>„{name}“ kann nicht gelesen werden, weil das Leseprogramm abgestürzt ist. Die Datei ist wahrscheinlich beschädigt.</translation>
    </message>
    <message>
        <source>“{name}” can&apos;t be read. It is damaged, or not what its name says.</source>
        <translation>„{name}“ kann nicht gelesen werden. Die Datei ist beschädigt oder nicht das, was ihr Name sagt.</translation>
    </message>
    <message>
        <source>“{name}” could not be read within {seconds} seconds. Attach a part of it, or save it as text.</source>
        <translation>„{name}“ konnte nicht innerhalb von {seconds} Sekunden gelesen werden. Hängen Sie einen Teil davon an, oder speichern Sie die Datei als Text.</translation>
    </message>
    <message>
        <source>“{name}” has no text. If its pages are pictures, a program for text recognition can read them.</source>
        <translation>„{name}“ enthält keinen Text. Wenn die Seiten Bilder sind, kann ein Programm für Texterkennung sie lesen.</translation>
    </message>
    <message>
        <source>“{name}” has {file_bytes}, but a file can have only {max_bytes}. Attach a part of it.</source>
        <translation>„{name}“ ist {file_bytes} groß, aber eine Datei darf höchstens {max_bytes} groß sein. Hängen Sie einen Teil davon an.</translation>
    </message>
    <message>
        <source>“{name}” has {num_chars} characters, but a message can hold only {max_chars} of files. Attach a part of it.</source>
        <translation>„{name}“ hat {num_chars} Zeichen, aber eine Nachricht fasst höchstens {max_chars} Zeichen aus Dateien. Hängen Sie einen Teil davon an.</translation>
    </message>
    <message>
        <source>“{name}” has {num_chars} characters, but a project can hold only {max_chars} of files. Add a part of it.</source>
        <translation>„{name}“ hat {num_chars} Zeichen, aber ein Projekt fasst höchstens {max_chars} Zeichen aus Dateien. Fügen Sie einen Teil davon hinzu.</translation>
    </message>
    <message>
        <source>“{name}” is not a file.</source>
        <translation>„{name}“ ist keine Datei.</translation>
    </message>
    <message>
        <source>“{name}” is protected by a password. Save a copy without one, and attach that.</source>
        <translation>„{name}“ ist durch ein Passwort geschützt. Speichern Sie eine Kopie ohne Passwort, und hängen Sie die Kopie an.</translation>
    </message>
    <message>
        <source>“{name}” is too long: only the first {num_kept} of its {num_parts} parts are attached.</source>
        <translation>„{name}“ ist zu lang: Nur die ersten {num_kept} der {num_parts} Teile sind angehängt.</translation>
    </message>
    <message>
        <source>“{name}” was archived.</source>
        <translation>„{name}“ wurde archiviert.</translation>
    </message>
    <message>
        <source>“{name}” was deleted.</source>
        <translation>„{name}“ wurde gelöscht.</translation>
    </message>
    <message>
        <source>No model is loaded. Load one, then try again.</source>
        <translation>Es ist kein Modell geladen. Laden Sie eines, und versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>The hook “{name}” failed, so the answer ended. The text so far is kept. Fix the hook, or turn it off and try again.
{why}</source>
        <translation>Der Hook „{name}“ ist fehlgeschlagen, deshalb endete die Antwort. Der bisherige Text bleibt erhalten. Korrigieren Sie den Hook, oder schalten Sie ihn aus, und versuchen Sie es noch einmal.
{why}</translation>
    </message>
    <message>
        <source>There is not enough memory for this request. Nothing else was lost. Shorten the conversation, close other programs, or open a smaller model.</source>
        <translation>Der Arbeitsspeicher reicht für diese Anfrage nicht aus. Sonst ging nichts verloren. Kürzen Sie das Gespräch, schließen Sie andere Programme, oder öffnen Sie ein kleineres Modell.</translation>
    </message>
    <message>
        <source>An error in Bough ended this request ({kind}: {error}). The model is still running. Try again.</source>
        <translation>Ein Fehler in Bough hat diese Anfrage beendet ({kind}: {error}). Das Modell läuft weiter. Versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>This `request_id` is already in use. Choose another one for each command.</source>
        <translation>Diese `request_id` wird schon verwendet. Wählen Sie für jeden Befehl eine andere.</translation>
    </message>
    <message>
        <source>Loading “{model}” was cancelled.</source>
        <translation>Das Laden von „{model}“ wurde abgebrochen.</translation>
    </message>
    <message>
        <source>Loading “{model}” stopped because you chose another model.</source>
        <translation>Das Laden von „{model}“ wurde abgebrochen, weil Sie ein anderes Modell gewählt haben.</translation>
    </message>
    <message>
        <source>There is not enough memory for “{model}”. {loaded} Close other programs, or choose a smaller model.</source>
        <translation>Der Arbeitsspeicher reicht für „{model}“ nicht aus. {loaded} Schließen Sie andere Programme, oder wählen Sie ein kleineres Modell.</translation>
    </message>
    <message>
        <source>{architecture} models can&apos;t take tokens back, so this model answers without a draft model.</source>
        <translation>Modelle vom Typ {architecture} können keine Token zurücknehmen. Deshalb antwortet dieses Modell ohne Entwurfsmodell.</translation>
    </message>
    <message>
        <source>The draft model “{draft_model}” has a different vocabulary from “{model}”. Choose a smaller model of the same family, or none.</source>
        <translation>Das Entwurfsmodell „{draft_model}“ hat ein anderes Vokabular als „{model}“. Wählen Sie ein kleineres Modell derselben Familie oder keines.</translation>
    </message>
    <message>
        <source>{architecture} models can&apos;t take tokens back, so this model can&apos;t be a draft model.</source>
        <translation>Modelle vom Typ {architecture} können keine Token zurücknehmen. Deshalb kann dieses Modell kein Entwurfsmodell sein.</translation>
    </message>
    <message>
        <source>The previous model is still loaded.</source>
        <translation>Das vorherige Modell ist noch geladen.</translation>
    </message>
    <message>
        <source>The tokenizer in {path} is in a format that Bough can&apos;t read (it needs tokenizer.json). Choose another model.</source>
        <translation>Der Tokenizer in {path} hat ein Format, das Bough nicht lesen kann (nötig ist tokenizer.json). Wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>The model in {path} needs its own program code. Bough never runs code that comes with a model. Choose a model with a built-in architecture.</source>
        <translation>Das Modell in {path} braucht eigenen Programmcode. Bough führt nie Code aus, der mit einem Modell kommt. Wählen Sie ein Modell mit einer eingebauten Architektur.</translation>
    </message>
    <message>
        <source>The model in {path} needs its own program code ({file}, named in config.json). Bough never runs code that comes with a model. Choose a model with a built-in architecture.</source>
        <translation>Das Modell in {path} braucht eigenen Programmcode ({file}, genannt in config.json). Bough führt nie Code aus, der mit einem Modell kommt. Wählen Sie ein Modell mit einer eingebauten Architektur.</translation>
    </message>
    <message>
        <source>Bough does not support models of the type {architecture} ({path}). Choose another model.</source>
        <translation>Bough unterstützt keine Modelle vom Typ {architecture} ({path}). Wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>The model in {path} can&apos;t be loaded: {reason}. Download it again, or choose another model.</source>
        <translation>Das Modell in {path} kann nicht geladen werden: {reason}. Laden Sie es noch einmal herunter, oder wählen Sie ein anderes.</translation>
    </message>
    <message>
        <source>The tokenizer in {path} can&apos;t be loaded: {reason}. Download the model again, or choose another one.</source>
        <translation>Der Tokenizer in {path} kann nicht geladen werden: {reason}. Laden Sie das Modell noch einmal herunter, oder wählen Sie ein anderes.</translation>
    </message>
    <message>
        <source>{path} contains no weights (model*.safetensors). Choose a folder with a complete model in MLX or Hugging Face format.</source>
        <translation>{path} enthält keine Gewichte (model*.safetensors). Wählen Sie einen Ordner mit einem vollständigen Modell im Format von MLX oder Hugging Face.</translation>
    </message>
    <message>
        <source>{path} contains no tokenizer (tokenizer.json). Download the whole model again.</source>
        <translation>{path} enthält keinen Tokenizer (tokenizer.json). Laden Sie das ganze Modell noch einmal herunter.</translation>
    </message>
    <message>
        <source>The name of the model contains a NUL character. Enter a folder or the name of a downloaded model.</source>
        <translation>Der Name des Modells enthält ein NUL-Zeichen. Geben Sie einen Ordner oder den Namen eines heruntergeladenen Modells an.</translation>
    </message>
    <message>
        <source>{path} is a file. Choose the folder that contains the files of the model.</source>
        <translation>{path} ist eine Datei. Wählen Sie den Ordner, der die Dateien des Modells enthält.</translation>
    </message>
    <message>
        <source>There is no model “{name}” ({error}). Choose a folder that contains a model.</source>
        <translation>Es gibt kein Modell „{name}“ ({error}). Wählen Sie einen Ordner, der ein Modell enthält.</translation>
    </message>
    <message>
        <source>There is no folder and no downloaded model “{name}”. Choose a folder that contains a model.</source>
        <translation>Es gibt weder einen Ordner noch ein heruntergeladenes Modell „{name}“. Wählen Sie einen Ordner, der ein Modell enthält.</translation>
    </message>
    <message>
        <source>{path} contains no config.json. Choose a folder with a complete model in MLX or Hugging Face format.</source>
        <translation>{path} enthält keine config.json. Wählen Sie einen Ordner mit einem vollständigen Modell im Format von MLX oder Hugging Face.</translation>
    </message>
    <message>
        <source>{file} is not a JSON object. Download the model again.</source>
        <translation>{file} ist kein JSON-Objekt. Laden Sie das Modell noch einmal herunter.</translation>
    </message>
    <message>
        <source>{file} has no `model_type`, so the architecture is unknown. Choose another model.</source>
        <translation>{file} enthält keinen Eintrag `model_type`, deshalb ist die Architektur unbekannt. Wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>{path} lacks {num_missing} of {num_files} weight files (the first is {file}). Finish the download, then open the folder again.</source>
        <translation>In {path} fehlen {num_missing} von {num_files} Gewichtsdateien (die erste ist {file}). Schließen Sie den Download ab, und öffnen Sie den Ordner dann erneut.</translation>
    </message>
    <message>
        <source>{file} is incomplete: {num_missing} bytes are missing at its end. Finish the download, then open the folder again.</source>
        <translation>{file} ist unvollständig: Am Ende fehlen {num_missing} Byte. Schließen Sie den Download ab, und öffnen Sie den Ordner dann erneut.</translation>
    </message>
    <message>
        <source>The hook “{name}” did not return within {seconds} seconds, so the model was stopped. The text so far is kept. Fix the hook, or turn it off and try again.</source>
        <translation>Der Hook „{name}“ war nach {seconds} Sekunden noch nicht fertig, deshalb wurde das Modell gestoppt. Der bisherige Text bleibt erhalten. Korrigieren Sie den Hook, oder schalten Sie ihn aus, und versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>It returned {kind} instead of a Decision.</source>
        <translation>Er gab {kind} statt einer Decision zurück.</translation>
    </message>
    <message>
        <source>It returned a list with {kind} instead of a Decision.</source>
        <translation>Er gab eine Liste mit {kind} statt einer Decision zurück.</translation>
    </message>
    <message>
        <source>Its decision can&apos;t be carried out: {error}.</source>
        <translation>Seine Entscheidung kann nicht ausgeführt werden: {error}.</translation>
    </message>
    <message>
        <source>Its temperature is {temperature}, but must be 0 or more.</source>
        <translation>Seine Temperatur ist {temperature}, muss aber mindestens 0 sein.</translation>
    </message>
    <message>
        <source>It took back a negative number of tokens.</source>
        <translation>Er hat eine negative Zahl von Token zurückgenommen.</translation>
    </message>
    <message>
        <source>Its mask has a different shape from the previous hook&apos;s mask.</source>
        <translation>Seine Maske hat eine andere Form als die des vorigen Hooks.</translation>
    </message>
    <message>
        <source>It can&apos;t be copied for a fork.
{trace}</source>
        <translation>Er kann für eine Abzweigung nicht kopiert werden.
{trace}</translation>
    </message>
    <message>
        <source>`hook_options` names “{name}”, but the `hooks` of this request don&apos;t.</source>
        <translation>`hook_options` nennt „{name}“, die `hooks` dieser Anfrage aber nicht.</translation>
    </message>
    <message>
        <source>{file} defines neither a class `Hook` nor a function `hook`.</source>
        <translation>{file} definiert weder eine Klasse `Hook` noch eine Funktion `hook`.</translation>
    </message>
    <message>
        <source>`hook_options`: the hook “{name}” is a function and has no options.</source>
        <translation>Der Hook „{name}“ ist eine Funktion und hat keine Optionen.</translation>
    </message>
    <message>
        <source>`hooks`: there is no hook “{name}”. The hooks are: {names}. Put Python files with your own hooks into the hooks folder.</source>
        <translation>Es gibt keinen Hook „{name}“. Die Hooks sind: {names}. Legen Sie Python-Dateien mit eigenen Hooks in den Hook-Ordner.</translation>
    </message>
    <message>
        <source>{file} can&apos;t be read: {error}.</source>
        <translation>{file} kann nicht gelesen werden: {error}.</translation>
    </message>
    <message>
        <source>line {line}, {error}</source>
        <translation>Zeile {line}, {error}</translation>
    </message>
    <message>
        <source>{file} is not valid Python: {error}.</source>
        <translation>{file} ist kein gültiges Python: {error}.</translation>
    </message>
    <message>
        <source>Its mask must have the shape of the vocabulary, ({size},).</source>
        <translation>Seine Maske muss die Form des Vokabulars haben, ({size},).</translation>
    </message>
    <message>
        <source>It set token ID {token}, but the vocabulary has only {num_tokens} tokens.</source>
        <translation>Er hat die Token-ID {token} gesetzt, aber das Vokabular hat nur {num_tokens} Token.</translation>
    </message>
    <message>
        <source>It set {token}, which the answer format forbids here. To allow it, use `feed_constraint=False`.</source>
        <translation>Er hat {token} gesetzt, was das Antwortformat hier nicht zulässt. Um es zuzulassen, verwenden Sie `feed_constraint=False`.</translation>
    </message>
    <message>
        <source>Its mask allows no token that can follow here.</source>
        <translation>Seine Maske erlaubt kein Token, das hier folgen kann.</translation>
    </message>
    <message>
        <source>The answer does not satisfy the format yet.</source>
        <translation>Die Antwort entspricht dem Format noch nicht.</translation>
    </message>
    <message>
        <source>This model&apos;s tokens can&apos;t follow the answer format. Change the format.</source>
        <translation>Mit den Token dieses Modells lässt sich das Antwortformat nicht einhalten. Ändern Sie das Format.</translation>
    </message>
    <message>
        <source>The rest of the beginning does not fit the answer format.</source>
        <translation>Der Rest des Anfangs passt nicht zum Antwortformat.</translation>
    </message>
    <message>
        <source>`cache.kv_bits`: {architecture} models can&apos;t be cached in {bits} bits. Load it without `kv_bits`.</source>
        <translation>Der Cache von Modellen vom Typ {architecture} ist mit {bits} Bit nicht möglich. Laden Sie das Modell ohne diese Einstellung.</translation>
    </message>
    <message>
        <source>`cache.kv_bits`: {architecture} models can&apos;t be cached in {bits} bits ({reason}). Load it without `kv_bits`.</source>
        <translation>Der Cache von Modellen vom Typ {architecture} ist mit {bits} Bit nicht möglich ({reason}). Laden Sie das Modell ohne diese Einstellung.</translation>
    </message>
    <message>
        <source>The beginning of the answer does not fit the answer format. Change one of them, or let the format cover only the new text.</source>
        <translation>Der Anfang der Antwort passt nicht zum Antwortformat. Ändern Sie eines von beiden, oder lassen Sie das Format nur für den neuen Text gelten.</translation>
    </message>
    <message>
        <source>`draft` is &quot;model&quot;, but no draft model is loaded. Load a model with a draft model.</source>
        <translation>Ein Entwurfsmodell soll vorhersagen, aber es ist keines geladen. Laden Sie ein Modell mit Entwurfsmodell.</translation>
    </message>
    <message>
        <source>at least {num_tokens}</source>
        <translation>mindestens {num_tokens}</translation>
    </message>
    <message>
        <source>about {num_tokens}</source>
        <translation>etwa {num_tokens}</translation>
    </message>
    <message>
        <source>The prompt has {num_tokens} tokens, but the context of the model holds {context_length} tokens, the answer included. Shorten the message, or continue from an earlier one.</source>
        <translation>Der Prompt hat {num_tokens} Token, aber der Kontext des Modells fasst mit der Antwort nur {context_length} Token. Kürzen Sie die Nachricht, oder fahren Sie von einer früheren aus fort.</translation>
    </message>
    <message>
        <source>It forked into more than {num_answers} answers.</source>
        <translation>Er hat in mehr als {num_answers} Antworten verzweigt.</translation>
    </message>
    <message>
        <source>The model&apos;s chat template rejects these messages: {error}.</source>
        <translation>Die Chatvorlage des Modells lehnt diese Nachrichten ab: {error}.</translation>
    </message>
    <message>
        <source>The model&apos;s chat template fails with these messages: {error}.</source>
        <translation>Die Chatvorlage des Modells bricht bei diesen Nachrichten mit einem Fehler ab: {error}.</translation>
    </message>
    <message>
        <source>The messages contain too many private-use characters (U+F500 to U+F5FF). Remove some of them.</source>
        <translation>Die Nachrichten enthalten zu viele Zeichen aus dem privaten Bereich (U+F500 bis U+F5FF). Entfernen Sie einige.</translation>
    </message>
    <message>
        <source>No text fits this answer format. Change the format.</source>
        <translation>Zu diesem Antwortformat passt kein Text. Ändern Sie das Format.</translation>
    </message>
    <message>
        <source>The JSON schema is nested too deeply.</source>
        <translation>Das JSON-Schema ist zu tief verschachtelt.</translation>
    </message>
    <message>
        <source>The JSON schema is not valid JSON: {error}.</source>
        <translation>Das JSON-Schema ist kein gültiges JSON: {error}.</translation>
    </message>
    <message>
        <source>The regular expression is empty. Enter one.</source>
        <translation>Der reguläre Ausdruck ist leer. Geben Sie einen ein.</translation>
    </message>
    <message>
        <source>The grammar is empty. Enter one.</source>
        <translation>Die Grammatik ist leer. Geben Sie eine ein.</translation>
    </message>
    <message>
        <source>A choice must be a list of texts, none of them empty. Enter at least one.</source>
        <translation>Eine Auswahl muss eine Liste nicht leerer Texte sein. Geben Sie mindestens einen ein.</translation>
    </message>
    <message>
        <source>The regular expression is not valid: {error}, at “{position}”.</source>
        <translation>Der reguläre Ausdruck ist ungültig: {error}, bei „{position}“.</translation>
    </message>
    <message>
        <source>1 message was permanently deleted.</source>
        <translation>1 Nachricht wurde endgültig gelöscht.</translation>
    </message>
    <message>
        <source>A file could not be used ({error}). Nothing was changed.</source>
        <translation>Eine Datei konnte nicht verwendet werden ({error}). Es wurde nichts geändert.</translation>
    </message>
    <message>
        <source>A hook that uses the network or writes files needs the line {line}.</source>
        <translation>Ein Hook, der das Netz nutzt oder Dateien schreibt, braucht die Zeile {line}.</translation>
    </message>
    <message>
        <source>An error in Bough stopped this ({kind}: {error}). Nothing was changed.</source>
        <translation>Ein Fehler in Bough hat den Vorgang abgebrochen ({kind}: {error}). Es wurde nichts geändert.</translation>
    </message>
    <message>
        <source>Another Bough has these conversations open, so nothing was restored. Close it, then restore the backup again.</source>
        <translation>Bough läuft schon ein zweites Mal mit diesen Gesprächen, deshalb wurde nichts wiederhergestellt. Schließen Sie das andere Bough, und stellen Sie die Sicherung dann noch einmal wieder her.</translation>
    </message>
    <message>
        <source>Bough was closed while this answer was being written. The text so far is kept.</source>
        <translation>Bough wurde geschlossen, während diese Antwort geschrieben wurde. Der bisherige Text bleibt erhalten.</translation>
    </message>
    <message>
        <source>Choose another model, or download this one again.</source>
        <translation>Wählen Sie ein anderes Modell, oder laden Sie dieses noch einmal herunter.</translation>
    </message>
    <message>
        <source>Everything in the record is unchanged.</source>
        <translation>Alles in der Aufzeichnung ist unverändert.</translation>
    </message>
    <message>
        <source>Everything is saved again.</source>
        <translation>Alles ist wieder gespeichert.</translation>
    </message>
    <message>
        <source>The answer could not be run again. {error}</source>
        <translation>Die Antwort konnte nicht erneut ausgeführt werden. {error}</translation>
    </message>
    <message>
        <source>The answer differs from token {position} on: {num_other} of {num_compared} tokens are different.</source>
        <translation>Die Antwort weicht ab Token {position} ab: {num_other} von {num_compared} Token sind anders.</translation>
    </message>
    <message>
        <source>It ended as before.</source>
        <translation>Sie endete wie zuvor.</translation>
    </message>
    <message>
        <source>It ended with “{reason}” now and with “{before}” before.</source>
        <translation>Sie endete jetzt mit „{reason}“ und zuvor mit „{before}“.</translation>
    </message>
    <message>
        <source>The answer matched: {num_compared} of {num_tokens} tokens were sampled again.</source>
        <translation>Die Antwort stimmt überein: {num_compared} von {num_tokens} Token wurden erneut gesampelt.</translation>
    </message>
    <message>
        <source>Its hooks ({names}) can&apos;t be used as before, so it was sampled without them: {error}</source>
        <translation>Ihre Hooks ({names}) können nicht wie zuvor verwendet werden, deshalb wurde sie ohne Hooks erzeugt: {error}</translation>
    </message>
    <message>
        <source>Its stored tokens do not spell its text.</source>
        <translation>Ihre gespeicherten Token ergeben nicht ihren Text.</translation>
    </message>
    <message>
        <source>Message {message} can&apos;t be read because this part of the file is damaged. The other messages are intact.</source>
        <translation>Nachricht {message} kann nicht gelesen werden, weil dieser Teil der Datei beschädigt ist. Die anderen Nachrichten sind unversehrt.</translation>
    </message>
    <message>
        <source>Message {message} has an unknown type ({role}, {state}). Its text is intact.</source>
        <translation>Nachricht {message} hat einen unbekannten Typ ({role}, {state}). Der Text der Nachricht ist unversehrt.</translation>
    </message>
    <message>
        <source>Models round differently depending on how much they read at once.</source>
        <translation>Modelle runden unterschiedlich, je nachdem, wie viel sie auf einmal lesen.</translation>
    </message>
    <message>
        <source>The answer can&apos;t be run again, because no model is loaded. Load a model, or wait until one has loaded.</source>
        <translation>Die Antwort kann nicht erneut ausgeführt werden, weil kein Modell geladen ist. Laden Sie eines, oder warten Sie, bis eines geladen ist.</translation>
    </message>
    <message>
        <source>None of its tokens could be sampled again.</source>
        <translation>Keines ihrer Token konnte erneut gesampelt werden.</translation>
    </message>
    <message>
        <source>Nothing can be changed now. {why}</source>
        <translation>Zurzeit kann nichts geändert werden. {why}</translation>
    </message>
    <message>
        <source>One conversation was moved to the trash in the meantime, so it was not exported.</source>
        <translation>Ein Gespräch wurde inzwischen in den Papierkorb gelegt und deshalb nicht exportiert.</translation>
    </message>
    <message>
        <source>Other library versions: {versions}.</source>
        <translation>Andere Versionen der Bibliotheken: {versions}.</translation>
    </message>
    <message>
        <source>Some settings are invalid and were set aside: {names}. The others are used. The file is kept as {file}.</source>
        <translation>Einige Einstellungen sind ungültig und werden nicht verwendet: {names}. Die übrigen gelten. Die Datei bleibt als {file} erhalten.</translation>
    </message>
    <message>
        <source>Some weights of this model are damaged: {name} holds values that are infinite or not numbers. Its answers may make no sense. Download the model again, or choose another one.</source>
        <translation>Einige Gewichte dieses Modells sind beschädigt: {name} enthält Werte, die unendlich oder keine Zahlen sind. Seine Antworten können unsinnig sein. Laden Sie das Modell noch einmal herunter, oder wählen Sie ein anderes.</translation>
    </message>
    <message>
        <source>The answer can&apos;t continue from this token: another model wrote it, or the token is only a part of a character. Nothing was changed. Load the model that wrote the answer, or choose the token before.</source>
        <translation>Von diesem Token aus kann die Antwort nicht weitergehen: Ein anderes Modell hat sie geschrieben, oder das Token ist nur ein Teil eines Zeichens. Es wurde nichts geändert. Laden Sie das Modell, das die Antwort geschrieben hat, oder wählen Sie das Token davor.</translation>
    </message>
    <message>
        <source>The answer can&apos;t follow its format any further, so it ended. The text so far is kept. Make the format simpler or shorter.
{reason}</source>
        <translation>Die Antwort konnte ihr Format nicht weiter einhalten und wurde deshalb beendet. Der bisherige Text bleibt erhalten. Vereinfachen oder kürzen Sie das Format.
{reason}</translation>
    </message>
    <message>
        <source>The answer format has {num_chars} characters; at most {limit} are allowed. Make it shorter.</source>
        <translation>Das Antwortformat hat {num_chars} Zeichen; höchstens {limit} sind erlaubt. Kürzen Sie es.</translation>
    </message>
    <message>
        <source>The backup {backup} could not be restored ({error}). Your conversations are unchanged.</source>
        <translation>Die Sicherung {backup} konnte nicht wiederhergestellt werden ({error}). Ihre Gespräche sind unverändert.</translation>
    </message>
    <message>
        <source>The backup {backup} is restored. The previous conversations are kept in {file}.</source>
        <translation>Die Sicherung {backup} ist wiederhergestellt. Die vorherigen Gespräche liegen in {file}.</translation>
    </message>
    <message>
        <source>The cache has {now} now and had {then} before.</source>
        <translation>Der Cache hat jetzt {now} und hatte zuvor {then}.</translation>
    </message>
    <message>
        <source>The chat template of this model leaves out or changes messages, so the model did not see them as they are. The first begins with “{beginning}”.</source>
        <translation>Die Chatvorlage dieses Modells lässt Nachrichten weg oder ändert sie; das Modell hat sie nicht so gesehen, wie sie hier stehen. Die erste beginnt mit „{beginning}“.</translation>
    </message>
    <message>
        <source>The chat template of this model leaves out the system prompt, so the model did not see it.</source>
        <translation>Die Chatvorlage dieses Modells lässt den Systemprompt weg; das Modell hat ihn nicht gesehen.</translation>
    </message>
    <message>
        <source>The conversation was moved to the trash in the meantime. Nothing was exported.</source>
        <translation>Das Gespräch wurde inzwischen in den Papierkorb gelegt. Es wurde nichts exportiert.</translation>
    </message>
    <message>
        <source>The conversation was permanently deleted. Other conversations share its messages and keep them.</source>
        <translation>Das Gespräch wurde endgültig gelöscht. Andere Gespräche teilen seine Nachrichten und behalten sie.</translation>
    </message>
    <message>
        <source>The conversations are gone from {path}, and there is no backup. Nothing was changed. If their folder is on another disk, connect it and start Bough again.</source>
        <translation>Die Gespräche fehlen in {path}, und es gibt keine Sicherung. Es wurde nichts geändert. Wenn ihr Ordner auf einem anderen Datenträger liegt, schließen Sie diesen an und starten Sie Bough neu.</translation>
    </message>
    <message>
        <source>The conversations are gone from {path}, although you did not delete them. Nothing was changed. Restore a backup under File, Backups. To begin without conversations, move the folder {folder} away.</source>
        <translation>Die Gespräche fehlen in {path}, obwohl Sie sie nicht gelöscht haben. Es wurde nichts geändert. Stellen Sie unter Datei → Sicherungen eine Sicherung wieder her. Um ohne Gespräche zu beginnen, verschieben Sie den Ordner {folder} an einen anderen Ort.</translation>
    </message>
    <message>
        <source>The conversations in {path} are damaged ({error}). Nothing was changed. Replace the file with a backup, or move it away to start with an empty one.</source>
        <translation>Die Gespräche in {path} sind beschädigt ({error}). Es wurde nichts geändert. Ersetzen Sie die Datei durch eine Sicherung, oder verschieben Sie sie an einen anderen Ort, um mit einer leeren zu beginnen.</translation>
    </message>
    <message>
        <source>The conversations in {path} are partly damaged ({error}). Bough shows everything that can be read. {backup}</source>
        <translation>Die Gespräche in {path} sind teilweise beschädigt ({error}). Bough zeigt alles, was gelesen werden kann. {backup}</translation>
    </message>
    <message>
        <source>The conversations in {path} can&apos;t be opened or saved ({error}). Nothing was changed. Check that you may write to the file and its folder, or choose another folder with --data-dir.</source>
        <translation>Die Gespräche in {path} können nicht geöffnet oder gespeichert werden ({error}). Es wurde nichts geändert. Prüfen Sie, ob Sie in die Datei und ihren Ordner schreiben dürfen, oder wählen Sie mit --data-dir einen anderen Ordner.</translation>
    </message>
    <message>
        <source>The conversations in {path} come from a newer version of Bough. Nothing was changed. Open them with that version.</source>
        <translation>Die Gespräche in {path} stammen aus einer neueren Version von Bough. Es wurde nichts geändert. Öffnen Sie sie mit der neueren Version.</translation>
    </message>
    <message>
        <source>The conversations in {path} come from an older version of Bough. Bough makes a backup before it updates them, and the backup failed ({error}). Nothing was changed. Free some disk space, then start Bough again.</source>
        <translation>Die Gespräche in {path} stammen aus einer älteren Version von Bough. Vor der Aktualisierung erstellt Bough eine Sicherung, und diese ist fehlgeschlagen ({error}). Es wurde nichts geändert. Schaffen Sie Platz auf dem Datenträger, und starten Sie Bough dann noch einmal.</translation>
    </message>
    <message>
        <source>The disk is full, so {path} could not be saved. Everything saved before is kept. Free some disk space, then try again.</source>
        <translation>Der Datenträger ist voll, deshalb konnte {path} nicht gespeichert werden. Alles vorher Gespeicherte bleibt erhalten. Schaffen Sie Platz auf dem Datenträger, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>The file {path} is gone while Bough has it open. What you write from now on may not be kept. Put the file back or connect its disk, then close Bough and start it again.</source>
        <translation>Die Datei {path} ist verschwunden, während Bough sie geöffnet hat. Was Sie ab jetzt schreiben, wird vielleicht nicht gespeichert. Legen Sie die Datei zurück, oder schließen Sie ihren Datenträger an; schließen Sie Bough dann, und starten Sie es neu.</translation>
    </message>
    <message>
        <source>The hook “{name}” needs {what}, which the model&apos;s process gave up when it started. Start Bough again, then ask again.</source>
        <translation>Der Hook „{name}“ braucht {what}; darauf hat der Modellprozess beim Start verzichtet. Starten Sie Bough neu, und fragen Sie dann noch einmal.</translation>
    </message>
    <message>
        <source>The hook “{name}” was turned off during the answer because it was too slow.</source>
        <translation>Der Hook „{name}“ wurde während der Antwort ausgeschaltet, weil er zu langsam war.</translation>
    </message>
    <message>
        <source>The library for answer formats</source>
        <translation>Die Bibliothek für Antwortformate</translation>
    </message>
    <message>
        <source>The model in {path} fails when it reads a prompt ({reason}). Its config.json is probably wrong. Download the model again, or choose another one.</source>
        <translation>Das Modell in {path} bricht beim Lesen eines Prompts mit einem Fehler ab ({reason}). Wahrscheinlich ist seine config.json falsch. Laden Sie das Modell noch einmal herunter, oder wählen Sie ein anderes.</translation>
    </message>
    <message>
        <source>The model process could not be started ({error}). Your conversations are safe. Close other programs, then choose the model again.</source>
        <translation>Der Modellprozess ließ sich nicht starten ({error}). Ihre Gespräche sind sicher. Schließen Sie andere Programme, und wählen Sie das Modell dann noch einmal.</translation>
    </message>
    <message>
        <source>The model process did not respond for {num} seconds, so it was ended.</source>
        <translation>Der Modellprozess reagierte {num} Sekunden lang nicht, deshalb wurde er beendet.</translation>
    </message>
    <message>
        <source>The model process stopped {num_times} times in a row with the draft model “{draft_model}” ({how}). It now runs without a draft model.</source>
        <translation>Der Modellprozess wurde mit dem Entwurfsmodell „{draft_model}“ {num_times}-mal nacheinander unerwartet beendet ({how}). Er läuft jetzt ohne Entwurfsmodell.</translation>
    </message>
    <message>
        <source>The model process stopped.</source>
        <translation>Der Modellprozess wurde unerwartet beendet.</translation>
    </message>
    <message>
        <source>The model process takes unusually long. Since {time}: {activity}. Wait, or restart it: the model is then loaded again, and the text so far is kept.</source>
        <translation>Der Modellprozess braucht ungewöhnlich lange. Seit {time}: {activity}. Warten Sie, oder starten Sie ihn neu: Dann wird das Modell neu geladen, und der bisherige Text bleibt erhalten.</translation>
    </message>
    <message>
        <source>The model process was ended because it did not begin to load the other model.</source>
        <translation>Der Modellprozess wurde beendet, weil er nicht anfing, das andere Modell zu laden.</translation>
    </message>
    <message>
        <source>The model runs on the CPU, with OpenBLAS {version} and its kernel {kernel}.</source>
        <translation>Das Modell läuft auf der CPU, mit OpenBLAS {version} und dessen Kernel {kernel}.</translation>
    </message>
    <message>
        <source>The model runs on the CPU, with Intel&apos;s MKL {version}.</source>
        <translation>Das Modell läuft auf der CPU, mit MKL {version} von Intel.</translation>
    </message>
    <message>
        <source>Its quantized weights are unpacked in memory, because a CPU computes several times faster with them.</source>
        <translation>Seine quantisierten Gewichte liegen entpackt im Arbeitsspeicher, weil eine CPU damit um ein Mehrfaches schneller rechnet.</translation>
    </message>
    <message>
        <source>Its weights stay quantized, which is slower on a CPU. Unpacked, they would need {needed_bytes} of memory, but only {free_bytes} was free.</source>
        <translation>Seine Gewichte bleiben quantisiert, was auf einer CPU langsamer ist. Entpackt bräuchten sie {needed_bytes} Arbeitsspeicher, aber nur {free_bytes} waren frei.</translation>
    </message>
    <message>
        <source>The model&apos;s chat template did not finish within {seconds} seconds, so it was stopped. {what_to_do}</source>
        <translation>Die Chatvorlage des Modells war nach {seconds} Sekunden nicht fertig und wurde beendet. {what_to_do}</translation>
    </message>
    <message>
        <source>The model&apos;s chat template ended the process that it ran in (exit code {exit_code}). {what_to_do}</source>
        <translation>Die Chatvorlage des Modells hat ihren Prozess zum Absturz gebracht (Exit-Code {exit_code}). {what_to_do}</translation>
    </message>
    <message>
        <source>The model&apos;s chat template turns these messages into a prompt of more than {limit_bytes}. {what_to_do}</source>
        <translation>Die Chatvorlage des Modells macht aus diesen Nachrichten einen Prompt von mehr als {limit_bytes}. {what_to_do}</translation>
    </message>
    <message>
        <source>The model&apos;s chat template needs more than {limit_bytes} of memory, so it was stopped. {what_to_do}</source>
        <translation>Die Chatvorlage des Modells braucht mehr als {limit_bytes} Speicher und wurde beendet. {what_to_do}</translation>
    </message>
    <message>
        <source>A file has fewer lines than a batch of mlx-lm. Run mlx-lm with --batch-size {num}.</source>
        <translation>Eine Datei hat weniger Zeilen als ein Batch von mlx-lm. Starten Sie mlx-lm mit --batch-size {num}.</translation>
    </message>
    <message>
        <source>A hook forked the answer after token {position}. Without the other branch, the hook may decide differently.</source>
        <translation>Ein Hook hat die Antwort nach Token {position} verzweigt. Ohne den anderen Zweig entscheidet der Hook vielleicht anders.</translation>
    </message>
    <message>
        <source>A server can apply an answer format only from the beginning of an answer. The text is kept. Remove the format to continue this answer, or ask again.</source>
        <translation>Ein Server kann ein Antwortformat nur vom Anfang einer Antwort an anwenden. Der Text bleibt erhalten. Entfernen Sie das Format, um diese Antwort fortzusetzen, oder fragen Sie noch einmal.</translation>
    </message>
    <message>
        <source>All of these conversations would be validation data, so they were written to train.jsonl instead.</source>
        <translation>Alle diese Gespräche wären Validierungsdaten; sie wurden deshalb in train.jsonl geschrieben.</translation>
    </message>
    <message>
        <source>An error in Bough stopped this ({kind}). The finished part is kept. Try again.</source>
        <translation>Ein Fehler in Bough hat den Vorgang abgebrochen ({kind}). Der fertige Teil bleibt erhalten. Versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>Another Bough is downloading or converting {title} now. Wait until it has finished.</source>
        <translation>Ein zweites laufendes Bough lädt {title} gerade herunter oder wandelt es um. Warten Sie, bis es fertig ist.</translation>
    </message>
    <message>
        <source>Answers exported without their reasoning, because lines of this kind have no field for it: {num}.</source>
        <translation>Antworten ohne ihr Nachdenken exportiert, weil solche Zeilen kein Feld dafür haben: {num}.</translation>
    </message>
    <message>
        <source>Answers exported without their text beside a tool call, because lines of this kind have no field for both: {num}.</source>
        <translation>Antworten ohne ihren Text neben einem Tool-Aufruf exportiert, weil solche Zeilen kein Feld für beides haben: {num}.</translation>
    </message>
    <message>
        <source>Bough does not support this database; its tables are {names}</source>
        <translation>Bough unterstützt diese Datenbank nicht; ihre Tabellen sind {names}</translation>
    </message>
    <message>
        <source>Bough does not support this format</source>
        <translation>Bough unterstützt dieses Format nicht</translation>
    </message>
    <message>
        <source>Bough does not support this format; its fields are {names}</source>
        <translation>Bough unterstützt dieses Format nicht; seine Felder sind {names}</translation>
    </message>
    <message>
        <source>Branches left out, because a line of this kind holds only one question and one answer as text: {num}.</source>
        <translation>Zweige weggelassen, weil eine solche Zeile nur eine Frage und eine Antwort als Text enthält: {num}.</translation>
    </message>
    <message>
        <source>Conversations exported without the settings of their project, which only the format “Bough” keeps: {num}.</source>
        <translation>Ohne die Einstellungen ihres Projekts exportierte Gespräche (nur das Format „Bough“ behält sie): {num}.</translation>
    </message>
    <message>
        <source>Enter both the price of prompt tokens and the price of answer tokens, or neither. Nothing was saved.</source>
        <translation>Geben Sie den Preis der Token des Prompts und den der Token der Antwort an oder keinen von beiden. Es wurde nichts gespeichert.</translation>
    </message>
    <message>
        <source>Everything in the record is unchanged, but the log-probability of the stored token was {then} and is {now} now. This computer or a library computes differently.</source>
        <translation>Alles in der Aufzeichnung ist unverändert, aber die Log-Wahrscheinlichkeit des gespeicherten Tokens war {then} und ist jetzt {now}. Dieser Computer oder eine Bibliothek rechnet anders.</translation>
    </message>
    <message>
        <source>Hooks need a model on this computer. Turn them off for this answer, or choose another model.</source>
        <translation>Hooks brauchen ein Modell auf diesem Computer. Schalten Sie sie für diese Antwort aus, oder wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>Hooks that were not imported, because different hooks have the same names: {names}.</source>
        <translation>Nicht importierte Hooks, weil andere Hooks dieselben Namen haben: {names}.</translation>
    </message>
    <message>
        <source>Messages exported without the name of their branch, their star or their pin, because training records have no field for them: {num}.</source>
        <translation>Nachrichten ohne den Namen ihres Zweigs, ihren Stern oder ihre Anheftung exportiert, weil Trainingsdaten kein Feld dafür haben: {num}.</translation>
    </message>
    <message>
        <source>Messages joined with the previous message, because chat templates require questions and answers to alternate: {num}.</source>
        <translation>Nachrichten mit der vorigen verbunden, weil Chatvorlagen verlangen, dass Fragen und Antworten sich abwechseln: {num}.</translation>
    </message>
    <message>
        <source>Models of servers can only answer conversations. Choose a model on this computer to continue a text.</source>
        <translation>Modelle von Servern können nur Gespräche beantworten. Wählen Sie ein Modell auf diesem Computer, um einen Text fortzusetzen.</translation>
    </message>
    <message>
        <source>Models of servers support only JSON schemas as answer formats.</source>
        <translation>Modelle von Servern unterstützen als Antwortformat nur JSON-Schemas.</translation>
    </message>
    <message>
        <source>Models of servers support only JSON schemas as answer formats. Choose another format, or a model on this computer.</source>
        <translation>Modelle von Servern unterstützen als Antwortformat nur JSON-Schemas. Wählen Sie ein anderes Format oder ein Modell auf diesem Computer.</translation>
    </message>
    <message>
        <source>Notes left out, because training records have no field for them: {num}.</source>
        <translation>Notizen weggelassen, weil Trainingsdaten kein Feld für sie haben: {num}.</translation>
    </message>
    <message>
        <source>Pictures and files exported only by name, without their content: {num}.</source>
        <translation>Bilder und Dateien nur mit ihrem Namen exportiert, ohne ihren Inhalt: {num}.</translation>
    </message>
    <message>
        <source>Pictures and files left out, because training records contain only text: {num}.</source>
        <translation>Bilder und Dateien weggelassen, weil Trainingsdaten nur Text enthalten: {num}.</translation>
    </message>
    <message>
        <source>Settings of the project “{name}” are invalid and not used: {names}. They could not be copied to a file ({error}), so they stay in the database until you change the project.</source>
        <translation>Einstellungen des Projekts „{name}“ sind ungültig und werden nicht verwendet: {names}. Sie konnten nicht in eine Datei kopiert werden ({error}) und bleiben deshalb in der Datenbank, bis Sie das Projekt ändern.</translation>
    </message>
    <message>
        <source>The address contains a password, which would be stored in a file. Enter it as the key instead.</source>
        <translation>Die Adresse enthält ein Passwort, das in einer Datei gespeichert würde. Geben Sie es stattdessen als Schlüssel ein.</translation>
    </message>
    <message>
        <source>The best model of this list; quick for its size, but it needs much memory.</source>
        <translation>Das beste Modell dieser Liste; schnell für seine Größe, braucht aber viel Arbeitsspeicher.</translation>
    </message>
    <message>
        <source>The connection to {server} was lost before the end of the answer. The text so far is kept. Ask again when the server can be reached.</source>
        <translation>Die Verbindung zu {server} brach vor dem Ende der Antwort ab. Der bisherige Text bleibt erhalten. Fragen Sie noch einmal, sobald der Server erreichbar ist.</translation>
    </message>
    <message>
        <source>The disk did not store the changes of {path} ({error}). Check the disk.</source>
        <translation>Der Datenträger hat die Änderungen an {path} nicht gespeichert ({error}). Prüfen Sie den Datenträger.</translation>
    </message>
    <message>
        <source>The export of “{name}” may have gaps. {problem} Other messages with similar problems: {num_more}.</source>
        <translation>Der Export von „{name}“ kann Lücken haben. {problem} Weitere Nachrichten mit ähnlichen Problemen: {num_more}.</translation>
    </message>
    <message>
        <source>The file {path} is missing or empty, but its log {log} exists and may contain conversations. Nothing was changed. Put the file back. To begin without conversations, move the log away.</source>
        <translation>Die Datei {path} fehlt oder ist leer, aber ihr Protokoll {log} existiert und kann Gespräche enthalten. Es wurde nichts geändert. Legen Sie die Datei zurück. Um ohne Gespräche zu beginnen, verschieben Sie das Protokoll an einen anderen Ort.</translation>
    </message>
    <message>
        <source>The identity of {server} could not be verified, so nothing was sent ({error}). Correct the server&apos;s certificate, or the address.</source>
        <translation>Die Identität von {server} konnte nicht bestätigt werden, daher wurde nichts gesendet ({error}). Korrigieren Sie das Zertifikat des Servers oder die Adresse.</translation>
    </message>
    <message>
        <source>The instructions or files of “{name}” have changed since this branch began. The branch keeps the old ones.</source>
        <translation>Die Anweisungen oder Dateien von „{name}“ haben sich geändert, seit dieser Zweig begann. Der Zweig behält die alten.</translation>
    </message>
    <message>
        <source>The model has nothing to add: it ended the answer at the place where you continued it. Nothing was changed. Edit the end of the answer, or continue from an earlier place in it.</source>
        <translation>Das Modell hat nichts hinzuzufügen: Es hat die Antwort dort beendet, wo Sie sie fortgesetzt haben. Es wurde nichts geändert. Bearbeiten Sie das Ende der Antwort, oder setzen Sie sie von einer früheren Stelle aus fort.</translation>
    </message>
    <message>
        <source>The model&apos;s context ends at token {position}.</source>
        <translation>Der Kontext des Modells endet bei Token {position}.</translation>
    </message>
    <message>
        <source>The model&apos;s process can&apos;t reach the network, and writes files only in its own folder.</source>
        <translation>Der Modellprozess erreicht das Netz nicht und schreibt Dateien nur in seinem eigenen Ordner.</translation>
    </message>
    <message>
        <source>The model&apos;s process can&apos;t reach the network. It can write files, because a hook needs it.</source>
        <translation>Der Modellprozess erreicht das Netz nicht. Er kann Dateien schreiben, weil ein Hook das braucht.</translation>
    </message>
    <message>
        <source>The model&apos;s process can&apos;t reach the network. It can write files, because this system can&apos;t prevent it.</source>
        <translation>Der Modellprozess erreicht das Netz nicht. Er kann Dateien schreiben, weil dieses System es nicht verhindern kann.</translation>
    </message>
    <message>
        <source>The model&apos;s process is not confined, because BOUGH_CONFINEMENT is off.</source>
        <translation>Der Modellprozess ist nicht eingeschränkt, weil BOUGH_CONFINEMENT auf off steht.</translation>
    </message>
    <message>
        <source>The model&apos;s process is not confined, because hooks need the network and files.</source>
        <translation>Der Modellprozess ist nicht eingeschränkt, weil Hooks das Netz und Dateien brauchen.</translation>
    </message>
    <message>
        <source>The model&apos;s process is not confined, because that has not been tried with a GPU. To confine it, set BOUGH_CONFINEMENT=on.</source>
        <translation>Der Modellprozess ist nicht eingeschränkt, weil das mit einer GPU nicht erprobt ist. Um ihn einzuschränken, setzen Sie BOUGH_CONFINEMENT=on.</translation>
    </message>
    <message>
        <source>The model&apos;s process is not confined, because this system can&apos;t do that.</source>
        <translation>Der Modellprozess ist nicht eingeschränkt, weil dieses System das nicht kann.</translation>
    </message>
    <message>
        <source>The model&apos;s process writes files only in its own folder. It can use the network, because a hook needs it.</source>
        <translation>Der Modellprozess schreibt Dateien nur in seinem eigenen Ordner. Er kann das Netz nutzen, weil ein Hook das braucht.</translation>
    </message>
    <message>
        <source>The model&apos;s process writes files only in its own folder. It can use the network, because this system can&apos;t prevent it.</source>
        <translation>Der Modellprozess schreibt Dateien nur in seinem eigenen Ordner. Er kann das Netz nutzen, weil dieses System es nicht verhindern kann.</translation>
    </message>
    <message>
        <source>The newest intact backup is {file}.</source>
        <translation>Die neueste unversehrte Sicherung ist {file}.</translation>
    </message>
    <message>
        <source>The owner of {repo} decides who may download it. Open {page}, log in and ask for access; then enter an access token of your account in Bough.</source>
        <translation>Wer {repo} herunterladen darf, entscheidet der Eigentümer. Öffnen Sie {page}, melden Sie sich an, und bitten Sie um Zugang; geben Sie dann in Bough ein Zugriffstoken Ihres Kontos ein.</translation>
    </message>
    <message>
        <source>The process for the model&apos;s chat template could not be started: {reason}. Close other programs, then try again.</source>
        <translation>Der Prozess für die Chatvorlage des Modells konnte nicht gestartet werden: {reason}. Schließen Sie andere Programme, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>The process that checks the server stopped unexpectedly. Nothing was added. Try again.</source>
        <translation>Der Prozess, der den Server prüft, wurde unerwartet beendet. Es wurde nichts hinzugefügt. Versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>The prompt has {num_tokens} tokens now and had {num_before} before: a message above the answer, the chat template, or its options have changed.</source>
        <translation>Der Prompt hat jetzt {num_tokens} Token und hatte zuvor {num_before}: Eine Nachricht über der Antwort, die Chatvorlage oder deren Optionen haben sich geändert.</translation>
    </message>
    <message>
        <source>The record of how message {message} was made can&apos;t be read. Its text is intact.</source>
        <translation>Die Aufzeichnung, wie Nachricht {message} entstanden ist, kann nicht gelesen werden. Der Text der Nachricht ist unversehrt.</translation>
    </message>
    <message>
        <source>The record of this answer is damaged: it does not say where all tokens come from.</source>
        <translation>Die Aufzeichnung dieser Antwort ist beschädigt: Sie nennt nicht für alle Token, woher sie kommen.</translation>
    </message>
    <message>
        <source>The run was stopped.</source>
        <translation>Der Durchlauf wurde gestoppt.</translation>
    </message>
    <message>
        <source>The seed of the tokens {first} to {last} is unknown.</source>
        <translation>Der Seed der Token {first} bis {last} ist unbekannt.</translation>
    </message>
    <message>
        <source>The settings can&apos;t be read ({error}), so all have their defaults. The file is kept as {file}.</source>
        <translation>Die Einstellungen können nicht gelesen werden ({error}), daher gelten die Standardwerte. Die Datei bleibt als {file} erhalten.</translation>
    </message>
    <message>
        <source>The settings were imported. The previous settings are kept in {file}.</source>
        <translation>Die Einstellungen wurden importiert. Die bisherigen sind in {file} aufbewahrt.</translation>
    </message>
    <message>
        <source>The system prompt of this conversation offers tools, which only models on this computer can call here. Choose one of them.</source>
        <translation>Der Systemprompt dieses Gesprächs bietet Tools an, die hier nur Modelle auf diesem Computer aufrufen können. Wählen Sie eines davon.</translation>
    </message>
    <message>
        <source>The token ids of a server&apos;s model are not known, so the probabilities of tokens can&apos;t be changed.</source>
        <translation>Die Token-IDs eines Modells auf einem Server sind nicht bekannt, daher lassen sich die Wahrscheinlichkeiten der Token nicht ändern.</translation>
    </message>
    <message>
        <source>The token was {then} and is {now} now.</source>
        <translation>Das Token war {then} und ist jetzt {now}.</translation>
    </message>
    <message>
        <source>The tokenizer of this model</source>
        <translation>Der Tokenizer dieses Modells</translation>
    </message>
    <message>
        <source>The tokenizer of this model adds or moves some characters, so the model saw “{characters}”.</source>
        <translation>Der Tokenizer dieses Modells fügt Zeichen hinzu oder verschiebt sie, sodass das Modell „{characters}“ gesehen hat.</translation>
    </message>
    <message>
        <source>The tokenizer of this model leaves out or replaces some characters, so the model did not see them: {characters}</source>
        <translation>Der Tokenizer dieses Modells lässt manche Zeichen weg oder ersetzt sie; das Modell hat sie nicht gesehen: {characters}</translation>
    </message>
    <message>
        <source>The tokens after token {position} were not compared.</source>
        <translation>Die Token nach Token {position} wurden nicht verglichen.</translation>
    </message>
    <message>
        <source>The tokens of this answer are unknown: it was imported, edited, or cut by an older version of Bough.</source>
        <translation>Die Token dieser Antwort sind unbekannt: Die Antwort wurde importiert, bearbeitet oder von einer älteren Version von Bough gekürzt.</translation>
    </message>
    <message>
        <source>The trash is empty.</source>
        <translation>Der Papierkorb ist leer.</translation>
    </message>
    <message>
        <source>The two tokens were almost equally likely (within {difference}).</source>
        <translation>Die beiden Token waren fast gleich wahrscheinlich (Unterschied höchstens {difference}).</translation>
    </message>
    <message>
        <source>The weight files in {path} list too many tensors. Download the model again, or choose another one.</source>
        <translation>Die Gewichtsdateien in {path} führen zu viele Tensoren auf. Laden Sie das Modell noch einmal herunter, oder wählen Sie ein anderes.</translation>
    </message>
    <message>
        <source>The weights in {path} take {weights_bytes}, but this computer has {memory_bytes} of memory. Choose a smaller model.</source>
        <translation>Die Gewichte in {path} brauchen {weights_bytes}, aber dieser Computer hat nur {memory_bytes} Arbeitsspeicher. Wählen Sie ein kleineres Modell.</translation>
    </message>
    <message>
        <source>“{text}” is not a price. A price is a number such as 0.25, for a million tokens.</source>
        <translation>„{text}“ ist kein Preis. Ein Preis ist eine Zahl wie 0,25, für eine Million Token.</translation>
    </message>
    <message>
        <source>There is no answer because no model is running. Your message is kept. Open a model, then try again.</source>
        <translation>Es gibt keine Antwort, weil kein Modell läuft. Ihre Nachricht bleibt erhalten. Öffnen Sie ein Modell, und versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>There is no intact backup.</source>
        <translation>Es gibt keine unversehrte Sicherung.</translation>
    </message>
    <message>
        <source>This answer format asks for {num_chars} characters in a row; at most {limit} are allowed. Repeat less, or make its texts shorter.</source>
        <translation>Dieses Antwortformat verlangt {num_chars} Zeichen am Stück; erlaubt sind höchstens {limit}. Wiederholen Sie weniger, oder kürzen Sie seine Texte.</translation>
    </message>
    <message>
        <source>This answer format can&apos;t be read: {reason}. Change it.</source>
        <translation>Dieses Antwortformat kann nicht gelesen werden: {reason}. Ändern Sie es.</translation>
    </message>
    <message>
        <source>This answer format is nested too deeply or too large. Make it simpler or shorter.</source>
        <translation>Dieses Antwortformat ist zu tief verschachtelt oder zu groß. Vereinfachen oder kürzen Sie es.</translation>
    </message>
    <message>
        <source>This answer format is too complex ({reason}). Make it simpler or shorter.</source>
        <translation>Dieses Antwortformat ist zu komplex ({reason}). Vereinfachen oder kürzen Sie es.</translation>
    </message>
    <message>
        <source>This answer format needs more than {limit_bytes} of memory. Make it simpler or shorter.</source>
        <translation>Dieses Antwortformat braucht mehr als {limit_bytes} Speicher. Vereinfachen oder kürzen Sie es.</translation>
    </message>
    <message>
        <source>This answer format takes more than {seconds} seconds to read. Make it simpler or shorter.</source>
        <translation>Dieses Antwortformat zu lesen, dauert länger als {seconds} Sekunden. Vereinfachen oder kürzen Sie es.</translation>
    </message>
    <message>
        <source>This is not an answer of a model.</source>
        <translation>Das ist keine Antwort eines Modells.</translation>
    </message>
    <message>
        <source>This model does not support a {num_bits}-bit cache, so it uses full precision. The answers are as good, but they take more memory. To avoid this message, choose “Full precision” in the settings.</source>
        <translation>Dieses Modell unterstützt keinen {num_bits}-Bit-Cache und verwendet deshalb volle Genauigkeit. Die Antworten sind genauso gut, brauchen aber mehr Arbeitsspeicher. Damit diese Meldung nicht mehr erscheint, wählen Sie in den Einstellungen „Volle Genauigkeit“.</translation>
    </message>
    <message>
        <source>This model&apos;s tokens can&apos;t follow the answer format.</source>
        <translation>Mit den Token dieses Modells lässt sich das Antwortformat nicht einhalten.</translation>
    </message>
    <message>
        <source>This system has no keyring that Bough can use, so the access token is kept only until Bough ends.</source>
        <translation>Dieses System hat keinen Schlüsselbund, den Bough verwenden kann; das Zugriffstoken wird deshalb nur behalten, bis Sie Bough beenden.</translation>
    </message>
    <message>
        <source>Too many requests are waiting, so this one was not accepted. Wait until some of them have ended, then send it again.</source>
        <translation>Es warten zu viele Anfragen, deshalb wurde diese nicht angenommen. Warten Sie, bis einige davon beendet sind, und senden Sie sie dann noch einmal.</translation>
    </message>
    <message>
        <source>This was not computed, because the model is being replaced. Ask again afterwards.</source>
        <translation>Das wurde nicht berechnet, weil gerade ein anderes Modell geladen wird. Fragen Sie danach noch einmal.</translation>
    </message>
    <message>
        <source>Uncertain pause: when the model is unsure about a token, chooses that token again at a lower temperature.</source>
        <translation>Pause bei Unsicherheit: Ein Token, bei dem das Modell unsicher ist, wird mit niedrigerer Temperatur noch einmal gewählt.</translation>
    </message>
    <message>
        <source>You restarted the model process.</source>
        <translation>Sie haben den Modellprozess neu gestartet.</translation>
    </message>
    <message>
        <source>applying the chat template</source>
        <translation>Anwenden der Chatvorlage</translation>
    </message>
    <message>
        <source>building the model</source>
        <translation>Aufbau des Modells</translation>
    </message>
    <message>
        <source>a conversation in it has more than {max_bytes}</source>
        <translation>ein Gespräch darin ist größer als {max_bytes}</translation>
    </message>
    <message>
        <source>The prompt is read in chunks of {num_tokens} tokens now and was read in chunks of {num_before} before, which rounds differently.</source>
        <translation>Der Prompt wird jetzt in Blöcken von {num_tokens} Token gelesen, zuvor in Blöcken von {num_before}. Dabei wird anders gerundet.</translation>
    </message>
    <message>
        <source>The weights that generated the answer are unknown.</source>
        <translation>Die Gewichte, die die Antwort erzeugt haben, sind unbekannt.</translation>
    </message>
    <message>
        <source>The weights, the configuration or the type of device is different.</source>
        <translation>Die Gewichte, die Konfiguration oder der Gerätetyp sind anders.</translation>
    </message>
    <message>
        <source>There is no valid.jsonl, because none of these conversations was selected for validation.</source>
        <translation>Es gibt keine valid.jsonl, weil keines dieser Gespräche für die Validierung ausgewählt wurde.</translation>
    </message>
    <message>
        <source>There is nothing to export: no branch here consists of one question and a finished answer. Choose branches as lines.</source>
        <translation>Es gibt nichts zu exportieren: Kein Zweig hier besteht aus einer Frage und einer fertigen Antwort. Wählen Sie Zweige als Zeilen.</translation>
    </message>
    <message>
        <source>There is nothing to export: no message here matches these choices.</source>
        <translation>Es gibt nichts zu exportieren: Keine Nachricht hier passt zu dieser Auswahl.</translation>
    </message>
    <message>
        <source>This is not a key. Copy the whole key from the server&apos;s page. Nothing was added.</source>
        <translation>Das ist kein Schlüssel. Kopieren Sie den ganzen Schlüssel von der Seite des Servers. Es wurde nichts hinzugefügt.</translation>
    </message>
    <message>
        <source>This is not an access token. Copy the whole token from the page of your account.</source>
        <translation>Das ist kein Zugriffstoken. Kopieren Sie das ganze Token von der Seite Ihres Kontos.</translation>
    </message>
    <message>
        <source>This is not the address of a server. An address looks like http://localhost:8080/v1. Nothing was added.</source>
        <translation>Das ist keine Adresse eines Servers. Eine Adresse sieht aus wie http://localhost:8080/v1. Es wurde nichts hinzugefügt.</translation>
    </message>
    <message>
        <source>This process runs only models of servers. Set `endpoint`.</source>
        <translation>Dieser Prozess nutzt nur Modelle von Servern. Geben Sie `endpoint` an.</translation>
    </message>
    <message>
        <source>This process runs only models on this computer. Start a process for endpoints, then try again.</source>
        <translation>Dieser Prozess nutzt nur Modelle auf diesem Computer. Starten Sie einen Prozess für Endpunkte, und versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>This server can&apos;t continue the beginning of an answer. The text is kept. Ask again for a new answer, or choose a model on this computer to continue it.</source>
        <translation>Dieser Server kann den Anfang einer Antwort nicht fortsetzen. Der Text bleibt erhalten. Fragen Sie noch einmal, um eine neue Antwort zu erhalten, oder wählen Sie ein Modell auf diesem Computer, um sie fortzusetzen.</translation>
    </message>
    <message>
        <source>Unsent text or settings of a conversation are invalid and not used: {names}. They could not be copied to a file ({error}), so they stay in the database until you type in this conversation.</source>
        <translation>Nicht gesendeter Text oder Einstellungen eines Gesprächs sind ungültig und werden nicht verwendet: {names}. Sie konnten nicht in eine Datei kopiert werden ({error}) und bleiben deshalb in der Datenbank, bis Sie in diesem Gespräch etwas eingeben.</translation>
    </message>
    <message>
        <source>Write a date after “{key}:”, as in {key}:2026-01-31.</source>
        <translation>Schreiben Sie hinter „{key}:“ ein Datum, etwa {key}:2026-01-31.</translation>
    </message>
    <message>
        <source>`{key}` occurs twice</source>
        <translation>`{key}` kommt zweimal vor</translation>
    </message>
    <message>
        <source>circular links between messages, cut</source>
        <translation>Nachrichten, die im Kreis aufeinander folgen; der Kreis wird aufgetrennt</translation>
    </message>
    <message>
        <source>computing the next token</source>
        <translation>Berechnen des nächsten Tokens</translation>
    </message>
    <message>
        <source>config.json in {path} says `{key}`: {number}, but the weight files hold {num_tensors} tensors. Download the model again, or choose another one.</source>
        <translation>In config.json in {path} steht `{key}`: {number}, die Gewichtsdateien enthalten aber {num_tensors} Tensoren. Laden Sie das Modell noch einmal herunter, oder wählen Sie ein anderes.</translation>
    </message>
    <message>
        <source>conversations of Gemini that were grouped by time, because the file does not name them</source>
        <translation>Gespräche mit Gemini, nach der Zeit zusammengestellt, weil die Datei sie nicht benennt</translation>
    </message>
    <message>
        <source>drafts that were not sent yet, left out</source>
        <translation>noch nicht gesendete Entwürfe, weggelassen</translation>
    </message>
    <message>
        <source>empty messages, left out</source>
        <translation>leere Nachrichten, weggelassen</translation>
    </message>
    <message>
        <source>exit code {code}</source>
        <translation>Exit-Code {code}</translation>
    </message>
    <message>
        <source>full precision</source>
        <translation>volle Genauigkeit</translation>
    </message>
    <message>
        <source>it can&apos;t be read ({error})</source>
        <translation>kann nicht gelesen werden ({error})</translation>
    </message>
    <message>
        <source>it comes from a newer version of Bough; import it with that version</source>
        <translation>stammt aus einer neueren Version von Bough; importieren Sie es mit der neueren Version</translation>
    </message>
    <message>
        <source>it contains no conversations</source>
        <translation>enthält keine Gespräche</translation>
    </message>
    <message>
        <source>it fails on short texts: {error}</source>
        <translation>er bricht bei kurzen Texten mit einem Fehler ab: {error}</translation>
    </message>
    <message>
        <source>it has an invalid time</source>
        <translation>hat eine ungültige Zeit</translation>
    </message>
    <message>
        <source>it is a copy of Cherry Studio&apos;s own files; Bough reads only backups of Cherry Studio, which contain a data.json</source>
        <translation>es ist eine Kopie der eigenen Dateien von Cherry Studio; Bough liest nur Sicherungen von Cherry Studio, die eine data.json enthalten</translation>
    </message>
    <message>
        <source>it is a device or a terminal, not a file</source>
        <translation>ist ein Gerät oder ein Terminal, keine Datei</translation>
    </message>
    <message>
        <source>it is a pipe that no program writes into</source>
        <translation>ist eine Pipe, in die kein Programm schreibt</translation>
    </message>
    <message>
        <source>it is a socket, not a file</source>
        <translation>ist ein Socket, keine Datei</translation>
    </message>
    <message>
        <source>it is neither JSON nor UTF-8 text</source>
        <translation>ist weder JSON noch Text in UTF-8</translation>
    </message>
    <message>
        <source>it is not a transcript from Bough: no heading names a speaker</source>
        <translation>ist kein Transkript von Bough: Keine Überschrift nennt, wer spricht</translation>
    </message>
    <message>
        <source>it is not valid JSON ({error})</source>
        <translation>ist kein gültiges JSON ({error})</translation>
    </message>
    <message>
        <source>it turns short texts into far too many tokens</source>
        <translation>er macht aus kurzen Texten viel zu viele Token</translation>
    </message>
    <message>
        <source>it makes text thousands of times as long</source>
        <translation>er macht Texte tausendmal so lang oder noch länger</translation>
    </message>
    <message>
        <source>An unfinished model can&apos;t be resumed, because its entry can&apos;t be read ({error}). The entry is kept as {file}. Download or convert the model again.</source>
        <translation>Ein unfertiges Modell kann nicht fortgesetzt werden, weil sein Eintrag nicht gelesen werden kann ({error}). Der Eintrag bleibt als {file} erhalten. Laden Sie das Modell noch einmal herunter, oder wandeln Sie es noch einmal um.</translation>
    </message>
    <message>
        <source>An error in Bough stopped this ({kind}). Try again.</source>
        <translation>Ein Fehler in Bough hat den Vorgang abgebrochen ({kind}). Versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>Another model was loaded before this was answered. Ask again with the model that is loaded.</source>
        <translation>Bevor diese Anfrage beantwortet war, wurde ein anderes Modell geladen. Fragen Sie noch einmal mit dem geladenen Modell.</translation>
    </message>
    <message>
        <source>Bough can&apos;t convert GGUF models of the architecture {architecture}. Choose another model.</source>
        <translation>Bough kann GGUF-Modelle der Architektur {architecture} nicht umwandeln. Wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>Bough can&apos;t convert GGUF models of the architecture {architecture}. Choose one of these: {known}; or a model in MLX format.</source>
        <translation>Bough kann GGUF-Modelle der Architektur {architecture} nicht umwandeln. Wählen Sie eine von diesen: {known}; oder ein Modell im MLX-Format.</translation>
    </message>
    <message>
        <source>Bough does not support models of the type {architecture}. Choose another model.</source>
        <translation>Bough unterstützt keine Modelle des Typs {architecture}. Wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>Choose a model with weights of at most {weights_bytes}.</source>
        <translation>Wählen Sie ein Modell mit Gewichten von höchstens {weights_bytes}.</translation>
    </message>
    <message>
        <source>Choose a smaller model, or a version of it with fewer bits.</source>
        <translation>Wählen Sie ein kleineres Modell oder eine Version davon mit weniger Bits.</translation>
    </message>
    <message>
        <source>Choose a version of it with 4 bits, whose weights take about {weights_bytes}.</source>
        <translation>Wählen Sie eine Version mit 4 Bit, deren Gewichte etwa {weights_bytes} brauchen.</translation>
    </message>
    <message>
        <source>Close other programs first, or the computer may become slow.</source>
        <translation>Schließen Sie zuerst andere Programme, sonst kann der Computer langsam werden.</translation>
    </message>
    <message>
        <source>Closing other programs may help.</source>
        <translation>Vielleicht hilft es, andere Programme zu schließen.</translation>
    </message>
    <message>
        <source>Files whose content matches their hash: {num_files} ({hashed_bytes}).</source>
        <translation>Dateien, deren Inhalt ihrem Hash entspricht: {num_files} ({hashed_bytes}).</translation>
    </message>
    <message>
        <source>For difficult questions, longer texts and code; it can think before it answers.</source>
        <translation>Für schwierige Fragen, längere Texte und Programmcode; es kann vor der Antwort nachdenken.</translation>
    </message>
    <message>
        <source>For difficult work; quick for its size, because only a tenth of its parameters is used for each token.</source>
        <translation>Für anspruchsvolle Aufgaben; schnell für seine Größe, weil pro Token nur ein Zehntel der Parameter aktiv ist.</translation>
    </message>
    <message>
        <source>For everyday questions, summaries and drafts; it reads long texts.</source>
        <translation>Für alltägliche Fragen, Zusammenfassungen und Entwürfe; es liest lange Texte.</translation>
    </message>
    <message>
        <source>For most work, also with code; it can think before it answers.</source>
        <translation>Für die meisten Aufgaben, auch mit Programmcode; es kann vor der Antwort nachdenken.</translation>
    </message>
    <message>
        <source>HF_HUB_OFFLINE is set, so Bough does not ask the hub. Models on this computer can be used. To search and download, start Bough without this variable.</source>
        <translation>HF_HUB_OFFLINE ist gesetzt, deshalb fragt Bough nicht beim Hub an. Die Modelle auf diesem Computer sind verfügbar. Starten Sie Bough ohne diese Variable, um zu suchen und herunterzuladen.</translation>
    </message>
    <message>
        <source>It can&apos;t be read ({error}).</source>
        <translation>Es kann nicht gelesen werden ({error}).</translation>
    </message>
    <message>
        <source>It does not fit.</source>
        <translation>Es passt nicht in den Arbeitsspeicher.</translation>
    </message>
    <message>
        <source>It fits with a cache of {num_bits} bits (Settings → Memory and disk).</source>
        <translation>Es passt mit einem {num_bits}-Bit-Cache (Einstellungen → Speicher und Cache).</translation>
    </message>
    <message>
        <source>It fits with a context of {num_tokens} tokens.</source>
        <translation>Es passt mit einem Kontext von {num_tokens} Token.</translation>
    </message>
    <message>
        <source>It loads and answers.</source>
        <translation>Es lässt sich laden und antwortet.</translation>
    </message>
    <message>
        <source>It takes {need_bytes} of memory with a context of {num_tokens} tokens: {weights_bytes} for the weights, {kv_bytes} for the context, {overhead_bytes} for other data. {available_bytes} of {total_bytes} are free.</source>
        <translation>Es braucht {need_bytes} Arbeitsspeicher bei einem Kontext von {num_tokens} Token: {weights_bytes} für die Gewichte, {kv_bytes} für den Kontext, {overhead_bytes} für anderes. {available_bytes} von {total_bytes} sind frei.</translation>
    </message>
    <message>
        <source>The file&apos;s header can be read.</source>
        <translation>Der Kopf der Datei kann gelesen werden.</translation>
    </message>
    <message>
        <source>Its process does not respond. Wait, or pause it and resume it: the finished part is kept.</source>
        <translation>Der zuständige Prozess reagiert nicht. Warten Sie, oder pausieren Sie den Vorgang und setzen Sie ihn fort: Der fertige Teil bleibt erhalten.</translation>
    </message>
    <message>
        <source>No model would fit now.</source>
        <translation>Zurzeit würde kein Modell passen.</translation>
    </message>
    <message>
        <source>No data has arrived for a while. If this continues, pause and resume.</source>
        <translation>Seit einer Weile kommen keine Daten. Wenn das so bleibt, pausieren Sie den Vorgang und setzen Sie ihn fort.</translation>
    </message>
    <message>
        <source>One answer at a time fits.</source>
        <translation>Einzelne Antworten passen in den Arbeitsspeicher.</translation>
    </message>
    <message>
        <source>Quick on any computer: for trying things out, and for short, simple tasks.</source>
        <translation>Schnell auf jedem Computer: zum Ausprobieren und für kurze, einfache Aufgaben.</translation>
    </message>
    <message>
        <source>Reading “{name}” needs more than {limit_bytes} of memory. Attach a part of it, or save it as text.</source>
        <translation>Das Lesen von „{name}“ braucht mehr als {limit_bytes} Arbeitsspeicher. Hängen Sie einen Teil davon an, oder speichern Sie die Datei als Text.</translation>
    </message>
    <message>
        <source>Small and quick: for short questions, summaries and drafts.</source>
        <translation>Klein und schnell: für kurze Fragen, Zusammenfassungen und Entwürfe.</translation>
    </message>
    <message>
        <source>Some rules of the tools&apos; schemas can&apos;t be enforced, so a call may break them: {reason}</source>
        <translation>Einige Regeln in den Schemas der Tools können nicht erzwungen werden; ein Aufruf kann sie verletzen: {reason}</translation>
    </message>
    <message>
        <source>The answer can&apos;t continue like this: it would not be a valid tool call.</source>
        <translation>So darf die Antwort nicht weitergehen: Das wäre kein gültiger Tool-Aufruf.</translation>
    </message>
    <message>
        <source>The chat template of this model has no place for tools, so Bough described them in the system prompt. The model may call them less well.</source>
        <translation>Die Chatvorlage dieses Modells sieht keine Tools vor; Bough hat sie im Systemprompt beschrieben. Das Modell ruft sie vielleicht weniger zuverlässig auf.</translation>
    </message>
    <message>
        <source>The chat template that you chose for “{model}” can&apos;t be read ({error}), so the model runs without one. The file is {file}. Choose a template again on the model&apos;s page.</source>
        <translation>Die Chatvorlage, die Sie für „{model}“ gewählt haben, kann nicht gelesen werden ({error}); das Modell läuft deshalb ohne Vorlage. Die Datei ist {file}. Wählen Sie auf der Seite des Modells noch einmal eine Vorlage.</translation>
    </message>
    <message>
        <source>The config.json of this model holds values that are not finite numbers: {numbers}. Its answers may make no sense. Download the model again, or choose another one.</source>
        <translation>Die config.json dieses Modells enthält Werte, die keine endlichen Zahlen sind: {numbers}. Seine Antworten ergeben vielleicht keinen Sinn. Laden Sie das Modell noch einmal herunter, oder wählen Sie ein anderes.</translation>
    </message>
    <message>
        <source>The disk has {free_bytes} left, and this model needs {needed_bytes} more. Free some space, then try again.</source>
        <translation>Auf dem Datenträger sind {free_bytes} frei, aber dieses Modell braucht noch {needed_bytes}. Schaffen Sie Platz, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>The disk is full, so {folder} is not complete. The finished weight files are kept. Free some space, then try again.</source>
        <translation>Der Datenträger ist voll, deshalb ist {folder} nicht vollständig. Die fertigen Gewichtsdateien bleiben erhalten. Schaffen Sie Platz und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>The files of this model do not say which token ends an answer, so it may write until its limit. Set a limit or a stop string, or choose another model.</source>
        <translation>Die Dateien dieses Modells geben nicht an, welches Token eine Antwort beendet, deshalb schreibt es vielleicht bis zur Höchstzahl an Token. Legen Sie eine Höchstzahl oder eine Stoppsequenz fest, oder wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>The guide&apos;s process uses {num_bytes} of memory. If you stop it, it starts again when you next ask the guide something.</source>
        <translation>Der Prozess des Guides belegt {num_bytes} Arbeitsspeicher. Wenn Sie ihn beenden, startet er bei der nächsten Frage an den Guide von selbst neu.</translation>
    </message>
    <message>
        <source>The key in {variable} has characters that a request can&apos;t contain.</source>
        <translation>Der Schlüssel in {variable} enthält Zeichen, die in einer Anfrage nicht erlaubt sind.</translation>
    </message>
    <message>
        <source>The local API can&apos;t be switched on, because its process could not be started ({error}). Close other programs, then switch it off and on again.</source>
        <translation>Die lokale API kann nicht eingeschaltet werden, weil ihr Prozess nicht gestartet werden konnte ({error}). Schließen Sie andere Programme, schalten Sie die API dann aus und wieder ein.</translation>
    </message>
    <message>
        <source>The local API can&apos;t be switched on, because port {port} can&apos;t be used: another program may have it. Choose another port in the settings.</source>
        <translation>Die lokale API kann nicht eingeschaltet werden, weil Port {port} nicht verfügbar ist: Vielleicht belegt ihn ein anderes Programm. Wählen Sie in den Einstellungen einen anderen Port.</translation>
    </message>
    <message>
        <source>The local API&apos;s process does not respond, so other programs get no answers. Wait, or switch the local API off and on again in the settings.</source>
        <translation>Der Prozess der lokalen API reagiert nicht; andere Programme bekommen deshalb keine Antworten. Warten Sie, oder schalten Sie die lokale API in den Einstellungen aus und wieder ein.</translation>
    </message>
    <message>
        <source>The local API&apos;s process stopped (exit code {code}). Your conversations are safe. Switch the local API off and on again in the settings.</source>
        <translation>Der Prozess der lokalen API wurde unerwartet beendet (Exit-Code {code}). Ihre Gespräche sind sicher. Schalten Sie die lokale API in den Einstellungen aus und wieder ein.</translation>
    </message>
    <message>
        <source>The measured memory and speeds of your models can&apos;t be read ({error}). They are measured again. The file is kept as {file}.</source>
        <translation>Die Messwerte zu Arbeitsspeicher und Tempo Ihrer Modelle können nicht gelesen werden ({error}). Sie werden neu gemessen. Die Datei bleibt als {file} erhalten.</translation>
    </message>
    <message>
        <source>The model computed values that are not finite numbers, so the answer ended. The text so far is kept. Its weights or its config.json are probably damaged. Download it again, or choose another model.</source>
        <translation>Das Modell hat Werte berechnet, die keine endlichen Zahlen sind, daher wurde die Antwort beendet. Der bisherige Text bleibt erhalten. Wahrscheinlich sind seine Gewichte oder seine config.json beschädigt. Laden Sie es noch einmal herunter, oder wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>The model in {path} can&apos;t be loaded: {reason}. The cause is probably in its config.json: {numbers}. Download the model again, or choose another one.</source>
        <translation>Das Modell in {path} kann nicht geladen werden: {reason}. Die Ursache liegt wahrscheinlich in seiner config.json: {numbers}. Laden Sie das Modell noch einmal herunter, oder wählen Sie ein anderes.</translation>
    </message>
    <message>
        <source>The model in {path} computes values that are not finite numbers, so it can&apos;t answer. Its weights are sound, but its config.json is wrong: {numbers}. Download the model again, or choose another one.</source>
        <translation>Das Modell in {path} berechnet Werte, die keine endlichen Zahlen sind, und kann daher nicht antworten. Seine Gewichte sind unversehrt, aber seine config.json ist falsch: {numbers}. Laden Sie das Modell noch einmal herunter, oder wählen Sie ein anderes.</translation>
    </message>
    <message>
        <source>The model process stopped while it answered. It is being started again. Send the request once more.</source>
        <translation>Der Modellprozess wurde während der Antwort unerwartet beendet. Er wird neu gestartet. Senden Sie die Anfrage noch einmal.</translation>
    </message>
    <message>
        <source>The model process stopped while it tried the model.</source>
        <translation>Der Modellprozess wurde beim Ausprobieren des Modells unerwartet beendet.</translation>
    </message>
    <message>
        <source>The model process stopped {num_times} times in a row with the model “{model}” ({how}). Your conversations are safe. Choose another model, or ask the guide (Help → Ask the guide).</source>
        <translation>Der Modellprozess wurde mit dem Modell „{model}“ {num_times}-mal nacheinander unerwartet beendet ({how}). Ihre Gespräche sind sicher. Wählen Sie ein anderes Modell, oder fragen Sie den Guide (Hilfe → Guide fragen).</translation>
    </message>
    <message>
        <source>The owner of {repo} decides who may download it, and your account may not yet. Open {page}, ask for access, then try again.</source>
        <translation>Wer {repo} herunterladen darf, entscheidet der Eigentümer; Ihr Konto darf es noch nicht. Öffnen Sie {page}, bitten Sie um Zugang, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>The parts of this model do not belong together: {path} says that there are {count} tensors, and they hold {found}. Download all parts again.</source>
        <translation>Die Teile dieses Modells gehören nicht zusammen: Laut {path} sind es {count} Tensoren, die Teile enthalten aber {found}. Laden Sie alle Teile noch einmal herunter.</translation>
    </message>
    <message>
        <source>The process that converted this model has ended. The finished weight files are kept. Resume the conversion.</source>
        <translation>Der Prozess, der dieses Modell umgewandelt hat, ist beendet. Die fertigen Gewichtsdateien bleiben erhalten. Setzen Sie die Umwandlung fort.</translation>
    </message>
    <message>
        <source>The process that downloaded this model has ended. The part that has arrived is kept. Resume the download.</source>
        <translation>Der Prozess, der dieses Modell heruntergeladen hat, ist beendet. Das schon Geladene bleibt erhalten. Setzen Sie den Download fort.</translation>
    </message>
    <message>
        <source>The proxy does not let Bough reach {host} ({error}). Models on this computer can be used. Check HTTPS_PROXY and NO_PROXY, then try again.</source>
        <translation>Der Proxy lässt Bough nicht zu {host} ({error}). Die Modelle auf diesem Computer sind verfügbar. Prüfen Sie HTTPS_PROXY und NO_PROXY, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>The rule “{pattern}” is not a regular expression ({reason}). Correct it, or leave it out.</source>
        <translation>Die Regel „{pattern}“ ist kein regulärer Ausdruck ({reason}). Korrigieren Sie sie, oder lassen Sie sie weg.</translation>
    </message>
    <message>
        <source>The tools can&apos;t be used: {reason}</source>
        <translation>Die Tools können nicht verwendet werden: {reason}</translation>
    </message>
    <message>
        <source>The remembered answers to other programs can&apos;t be loaded ({error}). If a program sends one of them back, the model reads it again. The file is kept as {file}.</source>
        <translation>Die gemerkten Antworten an andere Programme können nicht geladen werden ({error}). Schickt ein Programm eine davon zurück, liest das Modell sie erneut. Die Datei bleibt als {file} erhalten.</translation>
    </message>
    <message>
        <source>Answers to other programs can&apos;t be remembered ({error}). If a program sends one of them back, the model reads it again. Check the file {file}, then switch the local API off and on again.</source>
        <translation>Bough kann sich Antworten an andere Programme nicht merken ({error}). Schickt ein Programm eine davon zurück, liest das Modell sie noch einmal. Prüfen Sie die Datei {file}, und schalten Sie dann die lokale API aus und wieder ein.</translation>
    </message>
    <message>
        <source>Settings of the project “{name}” are invalid and not used: {names}.</source>
        <translation>Einstellungen des Projekts „{name}“ sind ungültig und werden nicht verwendet: {names}.</translation>
    </message>
    <message>
        <source>Settings of the project “{name}” are invalid and were set aside: {names}. The others are used. The stored text is kept as {file}.</source>
        <translation>Einstellungen des Projekts „{name}“ sind ungültig und werden nicht verwendet: {names}. Die übrigen gelten. Der gespeicherte Text bleibt als {file} erhalten.</translation>
    </message>
    <message>
        <source>The project “{name}” was deleted. Its conversations stay as they are.</source>
        <translation>Das Projekt „{name}“ wurde gelöscht. Seine Gespräche bleiben unverändert.</translation>
    </message>
    <message>
        <source>The branch could not be printed: {error}.</source>
        <translation>Der Zweig konnte nicht gedruckt werden: {error}.</translation>
    </message>
    <message>
        <source>The branch was sent to the printer.</source>
        <translation>Der Zweig wurde an den Drucker gesendet.</translation>
    </message>
    <message>
        <source>The chat template of this model changes white space inside messages, so the model did not see every space, indent and line break. The first begins with “{beginning}”.</source>
        <translation>Die Chatvorlage dieses Modells ändert Leerraum innerhalb von Nachrichten; das Modell hat nicht jedes Leerzeichen, jede Einrückung und jeden Zeilenumbruch gesehen. Die erste beginnt mit „{beginning}“.</translation>
    </message>
    <message>
        <source>A filter of {server} ended this answer. The text so far is kept. Change the question, or choose another model.</source>
        <translation>Ein Filter von {server} hat diese Antwort beendet. Der bisherige Text bleibt erhalten. Ändern Sie die Frage, oder wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>Answers left out, because lines of this kind have no field for tool calls: {num}.</source>
        <translation>Antworten weggelassen, weil solche Zeilen kein Feld für Tool-Aufrufe haben: {num}.</translation>
    </message>
    <message>
        <source>Answers left out, because there is no question before them: {num}.</source>
        <translation>Antworten weggelassen, weil keine Frage vor ihnen steht: {num}.</translation>
    </message>
    <message>
        <source>Answers left out, because they are stopped, cut off, failed or empty: {num}.</source>
        <translation>Antworten weggelassen, weil sie gestoppt, abgeschnitten, fehlgeschlagen oder leer sind: {num}.</translation>
    </message>
    <message>
        <source>Banned phrases: takes back a banned phrase before it is complete, and continues differently.</source>
        <translation>Verbotene Wendungen: Eine verbotene Wendung wird zurückgenommen, bevor sie vollständig ist, und das Modell schreibt anders weiter.</translation>
    </message>
    <message>
        <source>Banned phrases: takes back a banned phrase before it is complete, and continues differently.

Compares text, not tokens, and ignores case. A phrase may begin inside a word. Option: `phrases`.</source>
        <translation>Verbotene Wendungen: Eine verbotene Wendung wird zurückgenommen, bevor sie vollständig ist, und das Modell schreibt anders weiter.

Vergleicht Text, nicht Token, und ignoriert Groß- und Kleinschreibung. Eine Wendung darf mitten in einem Wort beginnen. Option: `phrases`.</translation>
    </message>
    <message>
        <source>Bough keeps at most {num} servers. Remove one, then add this one.</source>
        <translation>Bough merkt sich höchstens {num} Server. Entfernen Sie einen, und fügen Sie dann diesen hinzu.</translation>
    </message>
    <message>
        <source>Bough keeps the settings of at most {limit} models. The oldest, those of {names}, were removed.</source>
        <translation>Bough behält die Einstellungen von höchstens {limit} Modellen. Die ältesten, die von {names}, wurden entfernt.</translation>
    </message>
    <message>
        <source>Conversations left out, because they have nothing for this format: {num} ({names}).</source>
        <translation>Gespräche weggelassen, weil sie nichts für dieses Format enthalten: {num} ({names}).</translation>
    </message>
    <message>
        <source>It runs on {host}. Conversations with it are sent there.</source>
        <translation>Es läuft auf {host}. Gespräche mit ihm werden dorthin gesendet.</translation>
    </message>
    <message>
        <source>Making the pages needs more than {limit_bytes} of memory. Nothing was written. Choose fewer messages, or export them as Markdown.</source>
        <translation>Das Erstellen der Seiten braucht mehr als {limit_bytes} Arbeitsspeicher. Es wurde nichts geschrieben. Wählen Sie weniger Nachrichten, oder exportieren Sie sie als Markdown.</translation>
    </message>
    <message>
        <source>Models whose settings were not imported, because Bough keeps those of at most {limit}: {num_models}.</source>
        <translation>Modelle, deren Einstellungen nicht importiert wurden, weil Bough höchstens die von {limit} behält: {num_models}.</translation>
    </message>
    <message>
        <source>No repeats: when an answer repeats itself, goes back to the start of the repetition, and continues differently.</source>
        <translation>Keine Wiederholungen: Wenn sich eine Antwort wiederholt, schreibt das Modell ab dem Beginn der Wiederholung anders weiter.</translation>
    </message>
    <message>
        <source>No repeats: when an answer repeats itself, goes back to the start of the repetition, and continues differently.

A repetition is a sequence of tokens that occurs `times` times in a row and has at least `fewest` tokens in all. The
hook keeps its first occurrence and bans the token that began the second one there. Options: `times`, `fewest`,
`longest` (tokens of one occurrence).</source>
        <translation>Keine Wiederholungen: Wenn sich eine Antwort wiederholt, schreibt das Modell ab dem Beginn der Wiederholung anders weiter.

Eine Wiederholung ist eine Folge von Token, die `times`-mal hintereinander vorkommt und insgesamt mindestens `fewest` Token hat.
Der Hook behält das erste Vorkommen und verbietet dort das Token, mit dem das zweite begann. Optionen: `times`, `fewest`,
`longest` (Token eines Vorkommens).</translation>
    </message>
    <message>
        <source>Presets that were not imported, because Bough keeps at most {limit}: {num_presets}.</source>
        <translation>Nicht importierte Profile, weil Bough höchstens {limit} behält: {num_presets}.</translation>
    </message>
    <message>
        <source>Some messages of this conversation can&apos;t be shown, because this part of the file is damaged: it does not say correctly which message they follow. They are kept. To see them, restore a backup under File, Backups.</source>
        <translation>Einige Nachrichten dieses Gesprächs können nicht gezeigt werden, weil dieser Teil der Datei beschädigt ist: Er gibt nicht richtig an, auf welche Nachricht sie folgen. Sie bleiben erhalten. Um sie zu sehen, stellen Sie unter Datei, Sicherungen, eine Sicherung wieder her.</translation>
    </message>
    <message>
        <source>System prompts left out, because lines of this kind have no field for them: {num}.</source>
        <translation>Systemprompts weggelassen, weil solche Zeilen kein Feld für sie haben: {num}.</translation>
    </message>
    <message>
        <source>System texts left out, because chat templates allow them only at the beginning: {num}.</source>
        <translation>Systemtexte weggelassen, weil Chatvorlagen sie nur am Anfang erlauben: {num}.</translation>
    </message>
    <message>
        <source>The document has only {num_pages} pages. Nothing was printed. Choose other pages.</source>
        <translation>Das Dokument hat nur {num_pages} Seiten. Es wurde nichts gedruckt. Wählen Sie andere Seiten.</translation>
    </message>
    <message>
        <source>The environment variable {name} is not set, or empty. Set it and start Bough again, or enter the key itself.</source>
        <translation>Die Umgebungsvariable {name} ist nicht gesetzt oder leer. Setzen Sie sie und starten Sie Bough neu, oder geben Sie den Schlüssel selbst ein.</translation>
    </message>
    <message>
        <source>The export of “{name}” may have gaps. {problem}</source>
        <translation>Der Export von „{name}“ kann Lücken haben. {problem}</translation>
    </message>
    <message>
        <source>The hooks could not be written ({error}). Nothing was changed.</source>
        <translation>Die Hooks konnten nicht geschrieben werden ({error}). Es wurde nichts geändert.</translation>
    </message>
    <message>
        <source>The key of {host} is not sent to another server. Enter the key again.</source>
        <translation>Der Schlüssel für {host} wird an keinen anderen Server gesendet. Geben Sie den Schlüssel noch einmal ein.</translation>
    </message>
    <message>
        <source>The key of {server} can&apos;t be read: {why} Nothing was sent. Unlock the keyring, then choose the model again; or edit the endpoint, and name an environment variable in place of the key.</source>
        <translation>Der Schlüssel von {server} kann nicht gelesen werden: {why} Es wurde nichts gesendet. Entsperren Sie den Schlüsselbund und wählen Sie das Modell noch einmal; oder bearbeiten Sie den Endpunkt und nennen Sie statt des Schlüssels eine Umgebungsvariable.</translation>
    </message>
    <message>
        <source>The process that makes the pages ended unexpectedly ({error}). Nothing was written. Try again, choose fewer messages, or export them as Markdown.</source>
        <translation>Der Prozess, der die Seiten erstellt, wurde unerwartet beendet ({error}). Es wurde nichts geschrieben. Versuchen Sie es noch einmal, wählen Sie weniger Nachrichten, oder exportieren Sie sie als Markdown.</translation>
    </message>
    <message>
        <source>The server of “{model}” was removed from Bough. Add it again in the Models window, or choose another model.</source>
        <translation>Der Server von „{model}“ wurde aus Bough entfernt. Fügen Sie ihn im Fenster „Modelle“ wieder hinzu, oder wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>The settings could not be written to {file} ({error}).</source>
        <translation>Die Einstellungen konnten nicht in {file} geschrieben werden ({error}).</translation>
    </message>
    <message>
        <source>The settings, presets and hooks were exported to {file}.</source>
        <translation>Die Einstellungen, Profile und Hooks wurden nach {file} exportiert.</translation>
    </message>
    <message>
        <source>The tokenizer of this model leaves out or replaces white space, so the model did not see every space, indent and line break.</source>
        <translation>Der Tokenizer dieses Modells lässt Leerraum weg oder ersetzt ihn; das Modell hat nicht jedes Leerzeichen, jede Einrückung und jeden Zeilenumbruch gesehen.</translation>
    </message>
    <message>
        <source>The weights are in a format that can contain program code, so Bough does not read it. Choose a version of this model in the safetensors format.</source>
        <translation>Die Gewichte haben ein Format, das Programmcode enthalten kann; Bough liest es deshalb nicht. Wählen Sie eine Version dieses Modells im Format safetensors.</translation>
    </message>
    <message>
        <source>There is a folder {folder} already, so nothing was written. Remove it, or choose another name.</source>
        <translation>Den Ordner {folder} gibt es schon, deshalb wurde nichts geschrieben. Entfernen Sie ihn, oder wählen Sie einen anderen Namen.</translation>
    </message>
    <message>
        <source>There is a folder {folder} that Bough did not make. Rename it, then try again.</source>
        <translation>Den Ordner {folder} hat nicht Bough angelegt. Benennen Sie ihn um, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>There is no file {path}. Choose a GGUF file.</source>
        <translation>Die Datei {path} gibt es nicht. Wählen Sie eine GGUF-Datei.</translation>
    </message>
    <message>
        <source>There is no model in {path}. Choose a GGUF file, or a folder with config.json and safetensors files.</source>
        <translation>In {path} ist kein Modell. Wählen Sie eine GGUF-Datei oder einen Ordner mit config.json und safetensors-Dateien.</translation>
    </message>
    <message>
        <source>There is no model process now. Try again in a moment.</source>
        <translation>Es gibt gerade keinen Modellprozess. Versuchen Sie es gleich noch einmal.</translation>
    </message>
    <message>
        <source>There is nothing to export: the answers to compare call tools, or follow calls, for which Axolotl&apos;s pairs have no field. Choose branches as lines, or the folder for TRL.</source>
        <translation>Es gibt nichts zu exportieren: Die Antworten zum Vergleich rufen Tools auf oder folgen auf Aufrufe, für die Axolotls Paare kein Feld haben. Wählen Sie Zweige als Zeilen, oder den Ordner für TRL.</translation>
    </message>
    <message>
        <source>There is nothing to export: no question here has two finished answers to compare. Export the whole tree, or regenerate an answer first.</source>
        <translation>Es gibt nichts zu exportieren: Keine Frage hat hier zwei fertige Antworten zum Vergleich. Exportieren Sie den ganzen Baum, oder erzeugen Sie zuerst eine Antwort neu.</translation>
    </message>
    <message>
        <source>A server can continue only the text of an answer, not tokens or reasoning. The text is kept. Continue it from another place, or choose a model on this computer.</source>
        <translation>Ein Server setzt nur den Text einer Antwort fort, keine Token und keine Überlegungen. Der Text bleibt erhalten. Setzen Sie ihn an einer anderen Stelle fort, oder wählen Sie ein Modell auf diesem Rechner.</translation>
    </message>
    <message>
        <source>A server does not count the tokens of a prompt before it is sent.</source>
        <translation>Ein Server zählt die Token eines Prompts nicht, bevor er gesendet wird.</translation>
    </message>
    <message>
        <source>A server wrote this answer. Choose its model in the window, and run the answer again there.</source>
        <translation>Ein Server hat diese Antwort geschrieben. Wählen Sie sein Modell im Fenster, und führen Sie die Antwort dort noch einmal aus.</translation>
    </message>
    <message>
        <source>Bough {version} is there. This is {present}.</source>
        <translation>Bough {version} ist da. Dies ist {present}.</translation>
    </message>
    <message>
        <source>Everything is in {file}. Take it to the other computer and read it there.</source>
        <translation>Alles ist in {file}. Bringen Sie die Datei auf den anderen Computer und lesen Sie sie dort.</translation>
    </message>
    <message>
        <source>It answers the same seed in the same way now. So its model, its version or its settings have changed.</source>
        <translation>Auf denselben Seed antwortet er jetzt gleich. Also haben sich sein Modell, seine Version oder seine Einstellungen geändert.</translation>
    </message>
    <message>
        <source>It gave two different answers to the same seed just now, so it does not keep to seeds.</source>
        <translation>Auf denselben Seed hat er eben zwei verschiedene Antworten gegeben, hält sich also nicht an Seeds.</translation>
    </message>
    <message>
        <source>It was “{then}…” and is “{now}…” now.</source>
        <translation>Er war „{then}…“ und ist jetzt „{now}…“.</translation>
    </message>
    <message>
        <source>Only the text was compared, because the tokens of a server are not known.</source>
        <translation>Nur der Text wurde verglichen, weil die Token eines Servers nicht bekannt sind.</translation>
    </message>
    <message>
        <source>The answer of the release feed can&apos;t be read ({error}).</source>
        <translation>Die Antwort der Versionsliste lässt sich nicht lesen ({error}).</translation>
    </message>
    <message>
        <source>The conversations in {file} come from a newer version of Bough. Nothing was changed. Install that version here, too.</source>
        <translation>Die Gespräche in {file} stammen aus einer neueren Version von Bough. Es wurde nichts geändert. Installieren Sie diese Version auch hier.</translation>
    </message>
    <message>
        <source>The conversations of the other computer are here now.</source>
        <translation>Die Gespräche des anderen Computers sind jetzt hier.</translation>
    </message>
    <message>
        <source>The release feed answered with the status {status}.</source>
        <translation>Die Versionsliste antwortete mit dem Status {status}.</translation>
    </message>
    <message>
        <source>The release feed can&apos;t be reached ({error}).</source>
        <translation>Die Versionsliste ist nicht erreichbar ({error}).</translation>
    </message>
    <message>
        <source>The seed of this answer is not known.</source>
        <translation>Der Seed dieser Antwort ist nicht bekannt.</translation>
    </message>
    <message>
        <source>The server of this model does not continue a given answer, so another token can&apos;t be chosen. Nothing was changed. Ask again for another answer, or choose another model.</source>
        <translation>Der Server dieses Modells setzt keine gegebene Antwort fort, deshalb lässt sich kein anderes Token wählen. Nichts wurde geändert. Fragen Sie noch einmal, oder wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>The server wrote another answer. The first {num_same} of {num_chars} characters are the same.</source>
        <translation>Der Server hat eine andere Antwort geschrieben. Die ersten {num_same} von {num_chars} Zeichen sind gleich.</translation>
    </message>
    <message>
        <source>The server wrote the same answer again, all {num_chars} characters.</source>
        <translation>Der Server hat dieselbe Antwort noch einmal geschrieben, alle {num_chars} Zeichen.</translation>
    </message>
    <message>
        <source>The tool calls above this answer were sent as text, because servers refuse calls without an id or a result.</source>
        <translation>Die Werkzeugaufrufe über dieser Antwort wurden als Text gesendet, weil Server Aufrufe ohne Kennung oder Ergebnis ablehnen.</translation>
    </message>
    <message>
        <source>There is nothing to export: there is no finished answer to a question here.</source>
        <translation>Es gibt nichts zu exportieren: Hier gibt es keine fertige Antwort auf eine Frage.</translation>
    </message>
    <message>
        <source>This answer continues a given text, so a server can&apos;t write it again as a whole.</source>
        <translation>Diese Antwort setzt einen gegebenen Text fort, deshalb kann ein Server sie nicht als Ganzes noch einmal schreiben.</translation>
    </message>
    <message>
        <source>This computer slept for {seconds} seconds, and the connection to {server} did not outlast it. The text so far is kept. Ask again, or continue the answer.</source>
        <translation>Dieser Rechner hat {seconds} Sekunden geschlafen, und die Verbindung zu {server} hat das nicht überdauert. Der bisherige Text bleibt erhalten. Fragen Sie noch einmal, oder setzen Sie die Antwort fort.</translation>
    </message>
    <message>
        <source>This is the safe mode: your settings, hooks, drafts, window places, chosen templates, measurements, unfinished downloads and the cache on disk are not used. They stay as they are. Start Bough without --safe-mode to use them again.</source>
        <translation>Dies ist der abgesicherte Modus: Ihre Einstellungen, Hooks, Entwürfe, Fensterpositionen, gewählten Vorlagen, Messwerte, unfertigen Downloads und der Cache auf dem Datenträger werden nicht verwendet. Sie bleiben unverändert. Starten Sie Bough ohne --safe-mode, um sie wieder zu verwenden.</translation>
    </message>
    <message>
        <source>This model computes values that are not finite numbers, though its weights are sound. Its config.json is probably wrong. Download the model again, or choose another one.</source>
        <translation>Dieses Modell berechnet Werte, die keine endlichen Zahlen sind, obwohl seine Gewichte unversehrt sind. Wahrscheinlich ist seine config.json falsch. Laden Sie das Modell noch einmal herunter, oder wählen Sie ein anderes.</translation>
    </message>
    <message>
        <source>This model does not support a {num_bits}-bit cache, so it uses full precision. The answers are as good, but they take more memory. To avoid this message, choose “Full precision” on its page (Models).</source>
        <translation>Dieses Modell unterstützt keinen {num_bits}-Bit-Cache und verwendet deshalb volle Genauigkeit. Die Antworten sind genauso gut, brauchen aber mehr Arbeitsspeicher. Damit diese Meldung nicht mehr erscheint, wählen Sie auf seiner Seite (Modelle) „Volle Genauigkeit“.</translation>
    </message>
    <message>
        <source>This model has no chat template, so messages reach it as plain text: it may continue the text instead of answering. A plain template marks who says what, and where a message ends.</source>
        <translation>Dieses Modell hat keine Chatvorlage und erhält Nachrichten deshalb als reinen Text: Es setzt den Text vielleicht fort, statt zu antworten. Eine einfache Vorlage kennzeichnet, wer was sagt und wo eine Nachricht endet.</translation>
    </message>
    <message>
        <source>This model needs an adapter, which Bough can&apos;t apply. Choose another model.</source>
        <translation>Dieses Modell braucht einen Adapter, den Bough nicht anwenden kann. Wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>This model needs its own program code, which Bough never runs. Choose another model.</source>
        <translation>Dieses Modell braucht eigenen Programmcode, den Bough nie ausführt. Wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>This model takes at least {need_bytes} of memory, but only {available_bytes} are free. It was not loaded. Close other programs first, or choose a smaller model.</source>
        <translation>Dieses Modell braucht mindestens {need_bytes} Arbeitsspeicher, aber nur {available_bytes} sind frei. Es wurde nicht geladen. Schließen Sie erst andere Programme, oder wählen Sie ein kleineres Modell.</translation>
    </message>
    <message>
        <source>This model takes {need_bytes} of memory, {weights_bytes} of it for its weights, but models can use only {total_bytes} here. It was not loaded.</source>
        <translation>Dieses Modell braucht {need_bytes} Arbeitsspeicher, davon {weights_bytes} für seine Gewichte; Modelle können hier aber nur {total_bytes} verwenden. Es wurde nicht geladen.</translation>
    </message>
    <message>
        <source>This server leaves out spaces and line ends at the end of a given text, so the answer would not go on exactly there. The text is kept. Continue it from the word before, or choose another token.</source>
        <translation>Dieser Server lässt Leerzeichen und Zeilenenden am Ende eines gegebenen Textes weg, deshalb ginge die Antwort nicht genau dort weiter. Der Text bleibt erhalten. Setzen Sie ihn ab dem Wort davor fort, oder wählen Sie ein anderes Token.</translation>
    </message>
    <message>
        <source>This system&apos;s keyring is locked or can&apos;t be used ({error}).</source>
        <translation>Der Schlüsselbund dieses Systems ist gesperrt oder nicht benutzbar ({error}).</translation>
    </message>
    <message>
        <source>This was cancelled. Ask again if you need it.</source>
        <translation>Dies wurde abgebrochen. Fragen Sie noch einmal, wenn Sie es brauchen.</translation>
    </message>
    <message>
        <source>Tool calls without a result, and results without a call, left out: {num}.</source>
        <translation>Tool-Aufrufe ohne Ergebnis und Ergebnisse ohne Aufruf weggelassen: {num}.</translation>
    </message>
    <message>
        <source>Uncertain pause: when the model is unsure about a token, chooses that token again at a lower temperature.

A token whose probability is below `threshold` is sampled again at a lower `temperature`, and the second token is kept.
Options: `threshold` (0…1), `temperature`.</source>
        <translation>Pause bei Unsicherheit: Ein Token, bei dem das Modell unsicher ist, wird mit niedrigerer Temperatur noch einmal gewählt.

Ein Token mit einer Wahrscheinlichkeit unter `threshold` wird mit niedrigerer `temperature` noch einmal gesampelt, und das zweite
Token bleibt stehen. Optionen: `threshold` (0…1), `temperature`.</translation>
    </message>
    <message>
        <source>Unsent text or settings of a conversation are invalid and not used: {names}.</source>
        <translation>Nicht gesendeter Text oder Einstellungen eines Gesprächs sind ungültig und werden nicht verwendet: {names}.</translation>
    </message>
    <message>
        <source>Unsent text or settings of a conversation are invalid and were set aside: {names}. The others are used. The stored text is kept as {file}.</source>
        <translation>Nicht gesendeter Text oder Einstellungen eines Gesprächs sind ungültig und werden nicht verwendet: {names}. Die übrigen gelten. Der gespeicherte Text bleibt als {file} erhalten.</translation>
    </message>
    <message>
        <source>`{key}` has an unknown type ({kind})</source>
        <translation>`{key}` hat einen unbekannten Typ ({kind})</translation>
    </message>
    <message>
        <source>`{key}` has {count} texts</source>
        <translation>`{key}` hat {count} Texte</translation>
    </message>
    <message>
        <source>`{key}` is a list of an unknown type ({kind})</source>
        <translation>`{key}` ist eine Liste eines unbekannten Typs ({kind})</translation>
    </message>
    <message>
        <source>a name has {length} characters</source>
        <translation>ein Name hat {length} Zeichen</translation>
    </message>
    <message>
        <source>a text has {length} characters</source>
        <translation>ein Text hat {length} Zeichen</translation>
    </message>
    <message>
        <source>characters that can&apos;t be read or stored, replaced by “�”</source>
        <translation>Zeichen, die nicht gelesen oder gespeichert werden können, durch „�“ ersetzt</translation>
    </message>
    <message>
        <source>chat records or messages with other fields, left out ({names})</source>
        <translation>Chat-Datensätze oder Nachrichten mit anderen Feldern, weggelassen ({names})</translation>
    </message>
    <message>
        <source>encrypted thoughts and summaries of Codex, left out</source>
        <translation>verschlüsselte Gedanken und Zusammenfassungen von Codex, weggelassen</translation>
    </message>
    <message>
        <source>it has more than {max_bytes}</source>
        <translation>sie hat mehr als {max_bytes}</translation>
    </message>
    <message>
        <source>it has {count} tokens</source>
        <translation>sie hat {count} Token</translation>
    </message>
    <message>
        <source>it holds {found} of {count} layers</source>
        <translation>sie enthält {found} von {count} Schichten</translation>
    </message>
    <message>
        <source>it is a web page, but not a record of activity from Google Takeout</source>
        <translation>sie ist eine Webseite, aber keine Aufzeichnung von Aktivitäten aus Google Takeout</translation>
    </message>
    <message>
        <source>it is empty</source>
        <translation>sie ist leer</translation>
    </message>
    <message>
        <source>it lacks the token that begins a text</source>
        <translation>ihr fehlt das Token, mit dem ein Text beginnt</translation>
    </message>
    <message>
        <source>it lists {num_tensors} tensors and {num_entries} values</source>
        <translation>sie führt {num_tensors} Tensoren und {num_entries} Werte auf</translation>
    </message>
    <message>
        <source>it takes too long for long words</source>
        <translation>er braucht für lange Wörter zu lange</translation>
    </message>
    <message>
        <source>it takes too long for short texts</source>
        <translation>er braucht für kurze Texte zu lange</translation>
    </message>
    <message>
        <source>it takes too long to build</source>
        <translation>der Aufbau dauert zu lange</translation>
    </message>
    <message>
        <source>it takes too much memory to build, or crashes</source>
        <translation>der Aufbau braucht zu viel Arbeitsspeicher oder stürzt ab</translation>
    </message>
    <message>
        <source>it takes too much memory, or crashes, on short texts</source>
        <translation>er braucht für kurze Texte zu viel Arbeitsspeicher oder stürzt ab</translation>
    </message>
    <message>
        <source>its JSON is incomplete or damaged after {position} bytes ({error})</source>
        <translation>das JSON ist nach {position} Byte unvollständig oder beschädigt ({error})</translation>
    </message>
    <message>
        <source>its JSON is incomplete or damaged after {position} bytes ({error}); {num_before} before it could be read</source>
        <translation>das JSON ist nach {position} Byte unvollständig oder beschädigt ({error}); {num_before} davor ließen sich lesen</translation>
    </message>
    <message>
        <source>its alignment is {alignment}</source>
        <translation>ihre Ausrichtung ist {alignment}</translation>
    </message>
    <message>
        <source>its field “{name}” is missing</source>
        <translation>das Feld „{name}“ fehlt</translation>
    </message>
    <message>
        <source>its file holds too many values</source>
        <translation>seine Datei enthält zu viele Werte</translation>
    </message>
    <message>
        <source>its file is damaged: {error}</source>
        <translation>seine Datei ist beschädigt: {error}</translation>
    </message>
    <message>
        <source>its first message is missing</source>
        <translation>die erste Nachricht fehlt</translation>
    </message>
    <message>
        <source>its header ends too early</source>
        <translation>ihr Kopf endet zu früh</translation>
    </message>
    <message>
        <source>its header is too long</source>
        <translation>ihr Kopf ist zu lang</translation>
    </message>
    <message>
        <source>its program is changing it; close that program, then import it</source>
        <translation>ihr Programm ändert sie gerade; schließen Sie dieses Programm und importieren Sie sie dann</translation>
    </message>
    <message>
        <source>its tokenizer has no merges</source>
        <translation>ihr Tokenizer hat keine Merges</translation>
    </message>
    <message>
        <source>its tokenizer has {count} merges</source>
        <translation>ihr Tokenizer hat {count} Merges</translation>
    </message>
    <message>
        <source>its vocabulary has no scores</source>
        <translation>ihr Vokabular hat keine Scores</translation>
    </message>
    <message>
        <source>its vocabulary has the same token twice</source>
        <translation>ihr Vokabular hat dasselbe Token zweimal</translation>
    </message>
    <message>
        <source>its vocabulary is incomplete</source>
        <translation>ihr Vokabular ist unvollständig</translation>
    </message>
    <message>
        <source>layer {number} lacks {name}</source>
        <translation>der Schicht {number} fehlt {name}</translation>
    </message>
    <message>
        <source>loading the model</source>
        <translation>Laden des Modells</translation>
    </message>
    <message>
        <source>loading the model ({stage})</source>
        <translation>Laden des Modells ({stage})</translation>
    </message>
    <message>
        <source>message {id} can&apos;t be read ({error})</source>
        <translation>Nachricht {id} kann nicht gelesen werden ({error})</translation>
    </message>
    <message>
        <source>message {id} comes before its parent</source>
        <translation>Nachricht {id} steht vor ihrem Vorgänger</translation>
    </message>
    <message>
        <source>message {id} has an invalid time</source>
        <translation>Nachricht {id} hat eine ungültige Zeit</translation>
    </message>
    <message>
        <source>message {id} has no parent</source>
        <translation>Nachricht {id} hat keinen Vorgänger</translation>
    </message>
    <message>
        <source>messages that changed both in the file and here, kept as they are here</source>
        <translation>Nachrichten, die sich in der Datei und hier geändert haben, sind so geblieben wie hier</translation>
    </message>
    <message>
        <source>messages whose parent is not in the file, moved to the top</source>
        <translation>Nachrichten, deren Vorgänger nicht in der Datei ist; sie stehen jetzt am Anfang</translation>
    </message>
    <message>
        <source>messages with the id of another message</source>
        <translation>Nachrichten mit der ID einer anderen Nachricht</translation>
    </message>
    <message>
        <source>names of forks of llm, left out</source>
        <translation>Namen von Abzweigungen in llm, weggelassen</translation>
    </message>
    <message>
        <source>names of speakers in a group, put before their messages</source>
        <translation>Namen von Sprechern einer Gruppe, vor ihre Nachrichten gesetzt</translation>
    </message>
    <message>
        <source>names of threads of Chatbox, left out</source>
        <translation>Namen von Threads in Chatbox, weggelassen</translation>
    </message>
    <message>
        <source>new messages below messages that you deleted, left out</source>
        <translation>neue Nachrichten unter gelöschten, weggelassen</translation>
    </message>
    <message>
        <source>notes and unsent texts of LM Studio, left out</source>
        <translation>Notizen und nicht gesendete Texte aus LM Studio, weggelassen</translation>
    </message>
    <message>
        <source>other files in the archive, not read ({names})</source>
        <translation>andere Dateien im Archiv, nicht gelesen ({names})</translation>
    </message>
    <message>
        <source>pictures and files that the file does not contain, replaced by placeholders</source>
        <translation>Bilder und Dateien, die in der Datei fehlen; durch Platzhalter ersetzt</translation>
    </message>
    <message>
        <source>preparing the answer format</source>
        <translation>Vorbereiten des Antwortformats</translation>
    </message>
    <message>
        <source>projects, tasks and media posts of Grok, left out</source>
        <translation>Projekte, Aufgaben und Medienbeiträge von Grok, weggelassen</translation>
    </message>
    <message>
        <source>questions that both answers of a pair repeat, kept once</source>
        <translation>Fragen, die beide Antworten eines Paars wiederholen, nur einmal behalten</translation>
    </message>
    <message>
        <source>reading the prompt ({done} of {total} tokens)</source>
        <translation>Lesen des Prompts ({done} von {total} Token)</translation>
    </message>
    <message>
        <source>reading the weights</source>
        <translation>Lesen der Gewichte</translation>
    </message>
    <message>
        <source>records of Gemini whose time can&apos;t be read</source>
        <translation>Einträge von Gemini, deren Zeit sich nicht lesen lässt</translation>
    </message>
    <message>
        <source>running the hook “{hook}”</source>
        <translation>Ausführen des Hooks „{hook}“</translation>
    </message>
    <message>
        <source>saving its cache to disk</source>
        <translation>Speichern des Caches auf dem Datenträger</translation>
    </message>
    <message>
        <source>signal SIGALRM: a hook did not return, see the terminal</source>
        <translation>Signal SIGALRM: Ein Hook wurde nicht fertig, siehe Terminal</translation>
    </message>
    <message>
        <source>signal SIGKILL, often because memory ran out</source>
        <translation>Signal SIGKILL, oft wegen zu wenig Arbeitsspeicher</translation>
    </message>
    <message>
        <source>signal {signal}</source>
        <translation>Signal {signal}</translation>
    </message>
    <message>
        <source>starting</source>
        <translation>Start</translation>
    </message>
    <message>
        <source>status lines of LM Studio, left out</source>
        <translation>Statuszeilen von LM Studio, weggelassen</translation>
    </message>
    <message>
        <source>tags of Open WebUI, left out</source>
        <translation>Schlagwörter von Open WebUI, weggelassen</translation>
    </message>
    <message>
        <source>the archive is incomplete or damaged</source>
        <translation>das Archiv ist unvollständig oder beschädigt</translation>
    </message>
    <message>
        <source>the database is damaged ({error})</source>
        <translation>die Datenbank ist beschädigt ({error})</translation>
    </message>
    <message>
        <source>the network</source>
        <translation>das Netz</translation>
    </message>
    <message>
        <source>the tensor {name} has the shape {shape}</source>
        <translation>der Tensor {name} hat die Form {shape}</translation>
    </message>
    <message>
        <source>the tensor {name} has {count} dimensions</source>
        <translation>der Tensor {name} hat {count} Dimensionen</translation>
    </message>
    <message>
        <source>the tensor {name} is not aligned</source>
        <translation>der Tensor {name} ist nicht ausgerichtet</translation>
    </message>
    <message>
        <source>the tensor {name} overlaps another one</source>
        <translation>der Tensor {name} überlappt einen anderen</translation>
    </message>
    <message>
        <source>topics that were deleted in Cherry Studio but are in its backup; they are archived</source>
        <translation>Themen, die in Cherry Studio gelöscht wurden, aber in der Sicherung sind; sie sind archiviert</translation>
    </message>
    <message>
        <source>{file} comes from a newer version of Bough. Nothing was changed.</source>
        <translation>{file} stammt aus einer neueren Version von Bough. Es wurde nichts geändert.</translation>
    </message>
    <message>
        <source>{file} is not a file that Bough wrote for another computer, or it is damaged ({error}). Nothing was changed.</source>
        <translation>{file} ist keine Datei, die Bough für einen anderen Computer geschrieben hat, oder sie ist beschädigt ({error}). Es wurde nichts geändert.</translation>
    </message>
    <message>
        <source>{server} can&apos;t be reached. Your message is kept. Check the address and the network, and whether the server runs; then ask again.</source>
        <translation>{server} ist nicht erreichbar. Ihre Nachricht bleibt erhalten. Prüfen Sie die Adresse, das Netz und ob der Server läuft; fragen Sie dann noch einmal.</translation>
    </message>
    <message>
        <source>{server} does not end its answer, so Bough stopped reading. The text so far is kept. Set a limit for the length of answers, then ask again.</source>
        <translation>{server} beendet seine Antwort nicht, daher liest Bough nicht weiter. Der bisherige Text bleibt erhalten. Begrenzen Sie die Länge der Antworten, und fragen Sie dann noch einmal.</translation>
    </message>
    <message>
        <source>{server} does not know the model “{model}”, or there is no such API at this address: {text}. Choose another model, or correct the address, which usually ends in /v1.</source>
        <translation>{server} kennt das Modell „{model}“ nicht, oder unter dieser Adresse gibt es keine solche API: {text}. Wählen Sie ein anderes Modell, oder korrigieren Sie die Adresse, die meist auf /v1 endet.</translation>
    </message>
    <message>
        <source>{server} has sent nothing for {seconds} seconds. The text so far is kept. Check whether the server still works, then ask again.</source>
        <translation>{server} hat seit {seconds} Sekunden nichts gesendet. Der bisherige Text bleibt erhalten. Prüfen Sie, ob der Server noch arbeitet, und fragen Sie dann noch einmal.</translation>
    </message>
    <message>
        <source>{server} lists no model. Load one there, then try again.</source>
        <translation>{server} nennt kein Modell. Laden Sie dort eines, und versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>{server} no longer has the model “{model}”. Choose another model.</source>
        <translation>{server} hat das Modell „{model}“ nicht mehr. Wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>{server} refused the key. Your message is kept. Enter a valid key in the Models window, then ask again.</source>
        <translation>{server} hat den Schlüssel abgelehnt. Ihre Nachricht bleibt erhalten. Geben Sie im Fenster „Modelle“ einen gültigen Schlüssel ein, und fragen Sie dann noch einmal.</translation>
    </message>
    <message>
        <source>{server} reported an error in the middle of the answer: {text}. The text so far is kept. Ask again.</source>
        <translation>{server} hat mitten in der Antwort einen Fehler gemeldet: {text}. Der bisherige Text bleibt erhalten. Fragen Sie noch einmal.</translation>
    </message>
    <message>
        <source>{server} sent more than {limit_bytes} without an end, so Bough stopped reading. The text so far is kept. Check the server, then ask again.</source>
        <translation>{server} hat mehr als {limit_bytes} ohne ein Ende gesendet, daher liest Bough nicht weiter. Der bisherige Text bleibt erhalten. Prüfen Sie den Server, und fragen Sie dann noch einmal.</translation>
    </message>
    <message>
        <source>{server} was removed, but its key is still in the keyring: {why} Unlock the keyring, and delete the entry “{entry}” of Bough there.</source>
        <translation>{server} wurde entfernt, aber sein Schlüssel liegt noch im Schlüsselbund: {why} Entsperren Sie den Schlüsselbund und löschen Sie dort den Eintrag „{entry}“ von Bough.</translation>
    </message>
    <message>
        <source>“{typed}” is not a date that can be searched for, so nothing was searched. Write the year, the month and the day, as in {key}:2026-01-31. To find the text itself, put it in quotation marks.</source>
        <translation>„{typed}“ ist kein Datum, nach dem gesucht werden kann; es wurde nichts gesucht. Schreiben Sie Jahr, Monat und Tag, etwa {key}:2026-01-31. Um den Text selbst zu finden, setzen Sie ihn in Anführungszeichen.</translation>
    </message>
    <message>
        <source>its format version is missing</source>
        <translation>die Version des Formats fehlt</translation>
    </message>
    <message>
        <source>this archive contains no files with conversations</source>
        <translation>dieses Archiv enthält keine Dateien mit Gesprächen</translation>
    </message>
    <message>
        <source>this folder contains no files with conversations</source>
        <translation>dieser Ordner enthält keine Dateien mit Gesprächen</translation>
    </message>
    <message>
        <source>to write files</source>
        <translation>das Recht, Dateien zu schreiben</translation>
    </message>
    <message>
        <source>tool calls, tool results and messages of other roles, kept as notes</source>
        <translation>Tool-Aufrufe, Tool-Ergebnisse und Nachrichten anderer Rollen; als Notizen behalten</translation>
    </message>
    <message>
        <source>two messages have the id {id}</source>
        <translation>zwei Nachrichten haben die ID {id}</translation>
    </message>
    <message>
        <source>unknown fields of answer records ({names})</source>
        <translation>unbekannte Felder in Antwortaufzeichnungen ({names})</translation>
    </message>
    <message>
        <source>unknown message fields ({names})</source>
        <translation>unbekannte Felder in Nachrichten ({names})</translation>
    </message>
    <message>
        <source>unreadable answer records</source>
        <translation>unlesbare Antwortaufzeichnungen</translation>
    </message>
    <message>
        <source>unreadable records of which branch was shown</source>
        <translation>unlesbare Angaben dazu, welcher Zweig angezeigt wurde</translation>
    </message>
    <message>
        <source>unreadable parts of projects ({names})</source>
        <translation>unlesbare Teile von Projekten ({names})</translation>
    </message>
    <message>
        <source>waiting for a message</source>
        <translation>Warten auf eine Nachricht</translation>
    </message>
    <message>
        <source>warming up</source>
        <translation>Warmlaufen</translation>
    </message>
    <message>
        <source>{error} The conversations imported so far are in the trash.</source>
        <translation>{error} Die bisher importierten Gespräche liegen im Papierkorb.</translation>
    </message>
    <message>
        <source>{error} The model is being loaded again; your next message will be answered.</source>
        <translation>{error} Das Modell wird neu geladen; Ihre nächste Nachricht wird beantwortet.</translation>
    </message>
    <message>
        <source>{error} The previous model is being loaded again.</source>
        <translation>{error} Das vorherige Modell wird wieder geladen.</translation>
    </message>
    <message>
        <source>{file} arrived damaged twice, so it was removed. The other files are kept. Try again later, or choose another model.</source>
        <translation>{file} kam zweimal beschädigt an und wurde deshalb entfernt. Die anderen Dateien bleiben erhalten. Versuchen Sie es später noch einmal, oder wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>{file} can&apos;t be read ({error}).</source>
        <translation>{file} kann nicht gelesen werden ({error}).</translation>
    </message>
    <message>
        <source>{file} can&apos;t be written ({error}). Nothing was changed. Check that you may write to its folder, or choose another one with --data-dir.</source>
        <translation>{file} kann nicht geschrieben werden ({error}). Es wurde nichts geändert. Prüfen Sie, ob Sie in den Ordner schreiben dürfen, oder wählen Sie mit --data-dir einen anderen.</translation>
    </message>
    <message>
        <source>{file} contains a hook with an invalid name (“{name}”). Nothing was changed.</source>
        <translation>{file} enthält einen Hook mit einem ungültigen Namen („{name}“). Es wurde nichts geändert.</translation>
    </message>
    <message>
        <source>{file} could not be deleted ({error}), so a part of {title} may be left. Check that you may change this folder, then try again.</source>
        <translation>{file} konnte nicht gelöscht werden ({error}); ein Teil von {title} ist vielleicht noch da. Prüfen Sie, ob Sie diesen Ordner ändern dürfen, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>{file} could not be used ({error}). Nothing was changed.</source>
        <translation>{file} konnte nicht verwendet werden ({error}). Es wurde nichts geändert.</translation>
    </message>
    <message>
        <source>{file} could not be written ({error}), so the model still has no template. Check that you may write to this folder, then try again.</source>
        <translation>{file} konnte nicht geschrieben werden ({error}), deshalb läuft das Modell ohne Vorlage weiter. Prüfen Sie, ob Sie in diesen Ordner schreiben dürfen, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>{file} could not be written ({error}). The part that has arrived is kept. Check the disk, then resume.</source>
        <translation>{file} konnte nicht geschrieben werden ({error}). Das schon Geladene bleibt erhalten. Prüfen Sie den Datenträger, und setzen Sie den Download dann fort.</translation>
    </message>
    <message>
        <source>{file} has {size_bytes}; Bough reads at most {limit_bytes}. Download the model again, or choose another one.</source>
        <translation>{file} ist {size_bytes} groß; Bough liest höchstens {limit_bytes}. Laden Sie das Modell noch einmal herunter, oder wählen Sie ein anderes.</translation>
    </message>
    <message>
        <source>{file} is a link to a file that can&apos;t be read ({error}). Finish the download, then open the folder again.</source>
        <translation>{file} verweist auf eine Datei, die nicht gelesen werden kann ({error}). Schließen Sie den Download ab, und öffnen Sie den Ordner dann erneut.</translation>
    </message>
    <message>
        <source>{file} is damaged: its content does not match its hash. Remove the model, and download it again.</source>
        <translation>{file} ist beschädigt: Der Inhalt entspricht nicht seinem Hash. Entfernen Sie das Modell, und laden Sie es noch einmal herunter.</translation>
    </message>
    <message>
        <source>{file} is not an ordinary file (it is a pipe, a socket or a device), so Bough does not read it. Remove it, or choose another model.</source>
        <translation>{file} ist keine gewöhnliche Datei (sondern eine Pipe, ein Socket oder ein Gerät), darum liest Bough sie nicht. Entfernen Sie sie, oder wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>{file}, conversation {number}</source>
        <translation>{file}, Gespräch {number}</translation>
    </message>
    <message>
        <source>{file}, conversation {number} (“{name}”)</source>
        <translation>{file}, Gespräch {number} („{name}“)</translation>
    </message>
    <message>
        <source>{file}, line {number}</source>
        <translation>{file}, Zeile {number}</translation>
    </message>
    <message>
        <source>{folder} can&apos;t be written ({error}). The finished weight files are kept. Try again.</source>
        <translation>{folder} kann nicht geschrieben werden ({error}). Die fertigen Gewichtsdateien bleiben erhalten. Versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>{freed_bytes} of the cache was removed from the disk, but {num_files} files in {folder} could not be removed ({error}). Check that you may write to this folder, then try again.</source>
        <translation>{freed_bytes} des Caches wurden vom Datenträger entfernt, aber {num_files} Dateien in {folder} konnten nicht entfernt werden ({error}). Prüfen Sie, ob Sie in diesen Ordner schreiben dürfen, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>{freed_bytes} of the cache was removed from the disk. Your conversations are safe. Models read them again when needed.</source>
        <translation>{freed_bytes} des Caches wurden vom Datenträger entfernt. Ihre Gespräche sind sicher. Modelle lesen sie bei Bedarf erneut.</translation>
    </message>
    <message>
        <source>{host} can&apos;t be reached ({error}). Models on this computer can be used. Check the connection, then try again.</source>
        <translation>{host} ist nicht erreichbar ({error}). Die Modelle auf diesem Computer sind verfügbar. Prüfen Sie die Verbindung, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>{host} did not answer in time. Models on this computer can be used. Try again later.</source>
        <translation>{host} hat nicht rechtzeitig geantwortet. Die Modelle auf diesem Computer sind verfügbar. Versuchen Sie es später noch einmal.</translation>
    </message>
    <message>
        <source>{host} has a problem (HTTP {status}). Nothing was lost. Try again later.</source>
        <translation>{host} hat ein Problem (HTTP {status}). Es ging nichts verloren. Versuchen Sie es später noch einmal.</translation>
    </message>
    <message>
        <source>{host} accepts no more requests for now. Try again in a few minutes.</source>
        <translation>{host} nimmt vorerst keine Anfragen mehr an. Versuchen Sie es in einigen Minuten noch einmal.</translation>
    </message>
    <message>
        <source>{host} accepts no more requests for now. Try again in {num_seconds} seconds.</source>
        <translation>{host} nimmt vorerst keine Anfragen mehr an. Versuchen Sie es in {num_seconds} Sekunden noch einmal.</translation>
    </message>
    <message>
        <source>{host} refused this request (HTTP {status}). Nothing was changed. Check for a newer version of Bough.</source>
        <translation>{host} hat diese Anfrage abgelehnt (HTTP {status}). Es wurde nichts geändert. Suchen Sie nach einer neueren Version von Bough.</translation>
    </message>
    <message>
        <source>{model} can be used now.</source>
        <translation>{model} kann jetzt verwendet werden.</translation>
    </message>
    <message>
        <source>The conversion of {model} was not finished when Bough closed. The finished part is kept.</source>
        <translation>Die Umwandlung von {model} war noch nicht fertig, als Bough beendet wurde. Der fertige Teil bleibt erhalten.</translation>
    </message>
    <message>
        <source>The download of {model} was not finished when Bough closed. The finished part is kept.</source>
        <translation>Der Download von {model} war noch nicht fertig, als Bough beendet wurde. Der fertige Teil bleibt erhalten.</translation>
    </message>
    <message>
        <source>{name} has the shape {shape}</source>
        <translation>{name} hat die Form {shape}</translation>
    </message>
    <message>
        <source>{num_bits} bits</source>
        <translation>{num_bits} Bit</translation>
    </message>
    <message>
        <source>{num_messages} messages were permanently deleted.</source>
        <translation>{num_messages} Nachrichten wurden endgültig gelöscht.</translation>
    </message>
    <message>
        <source>{num_messages} messages were pruned.</source>
        <translation>{num_messages} Nachrichten wurden entfernt.</translation>
    </message>
    <message>
        <source>{num_missing} of the {count} parts of this model are missing. Finish the download.</source>
        <translation>{num_missing} von {count} Teilen dieses Modells fehlen. Schließen Sie den Download ab.</translation>
    </message>
    <message>
        <source>{num_missing} of the {count} parts of this model are missing; the first is {file}. Put all parts in {folder}, then try again.</source>
        <translation>{num_missing} der {count} Teile dieses Modells fehlen; der erste ist {file}. Legen Sie alle Teile in {folder}, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>{num_models} downloads or conversions were not finished when Bough closed. The finished parts are kept.</source>
        <translation>{num_models} Downloads oder Umwandlungen waren noch nicht fertig, als Bough beendet wurde. Die fertigen Teile bleiben erhalten.</translation>
    </message>
    <message>
        <source>{num_tokens} of its tokens complete the given text. They were not sampled freely, so they are not compared.</source>
        <translation>{num_tokens} ihrer Token vervollständigen den vorgegebenen Text. Sie wurden nicht frei gesampelt und werden deshalb nicht verglichen.</translation>
    </message>
    <message>
        <source>{num_tokens} of its tokens were changed where it was cut. They were not sampled freely, so they are not compared.</source>
        <translation>{num_tokens} ihrer Token wurden an der Stelle geändert, an der sie abgeschnitten wurde. Sie wurden nicht frei gesampelt und werden deshalb nicht verglichen.</translation>
    </message>
    <message>
        <source>{num_tokens} tokens would fit.</source>
        <translation>{num_tokens} Token würden passen.</translation>
    </message>
    <message>
        <source>{num_tokens} tokens, answer included, take {need_bytes} more memory, but only {available_bytes} are free.</source>
        <translation>{num_tokens} Token einschließlich der Antwort brauchen {need_bytes} mehr Arbeitsspeicher, aber nur {available_bytes} sind frei.</translation>
    </message>
    <message>
        <source>{num_tokens} tokens, answer included, take {need_bytes} of memory with the model, but models can use only {total_bytes} here.</source>
        <translation>{num_tokens} Token einschließlich der Antwort brauchen mit dem Modell {need_bytes} Arbeitsspeicher, aber Modelle können hier nur {total_bytes} verwenden.</translation>
    </message>
    <message>
        <source>{path} belongs to another program. Nothing was changed. Choose another folder for Bough with --data-dir.</source>
        <translation>{path} gehört zu einem anderen Programm. Es wurde nichts geändert. Wählen Sie mit --data-dir einen anderen Ordner für Bough.</translation>
    </message>
    <message>
        <source>{path} can&apos;t be read ({error}).</source>
        <translation>{path} kann nicht gelesen werden ({error}).</translation>
    </message>
    <message>
        <source>{path} contains a GGUF file ({file}), which Bough must convert first. Open the file in the Models window, or run `bough models import`.</source>
        <translation>{path} enthält eine GGUF-Datei ({file}), die Bough zuerst umwandeln muss. Öffnen Sie die Datei im Fenster „Modelle“, oder starten Sie `bough models import`.</translation>
    </message>
    <message>
        <source>{path} contains no language model. Choose a model&apos;s file.</source>
        <translation>{path} enthält kein Sprachmodell. Wählen Sie die Datei eines Modells.</translation>
    </message>
    <message>
        <source>{path} contains no tokenizer. Choose a language model&apos;s file.</source>
        <translation>{path} enthält keinen Tokenizer. Wählen Sie die Datei eines Sprachmodells.</translation>
    </message>
    <message>
        <source>{path} does not name its architecture. Choose a language model&apos;s file.</source>
        <translation>{path} nennt seine Architektur nicht. Wählen Sie die Datei eines Sprachmodells.</translation>
    </message>
    <message>
        <source>{path} has no value for `{key}`. Download the file again, or choose another one.</source>
        <translation>{path} enthält keinen Wert für `{key}`. Laden Sie die Datei noch einmal herunter, oder wählen Sie eine andere.</translation>
    </message>
    <message>
        <source>Bough can&apos;t convert the model in {path} (unsupported: `{key}`). Choose a model in MLX format, or another model.</source>
        <translation>Bough kann das Modell in {path} nicht umwandeln (nicht unterstützt: `{key}`). Wählen Sie ein Modell im MLX-Format oder ein anderes Modell.</translation>
    </message>
    <message>
        <source>Bough can&apos;t convert the tokenizer in {path} (unsupported: {kind}). Choose a model in MLX format, or another model.</source>
        <translation>Bough kann den Tokenizer in {path} nicht umwandeln (nicht unterstützt: {kind}). Wählen Sie ein Modell im MLX-Format oder ein anderes Modell.</translation>
    </message>
    <message>
        <source>{path} has version {version} of GGUF; Bough reads 2 and 3. Choose a newer file of this model.</source>
        <translation>{path} hat Version {version} von GGUF; Bough liest die Versionen 2 und 3. Wählen Sie eine neuere Datei dieses Modells.</translation>
    </message>
    <message>
        <source>{path} holds {name} in an unusual form. Choose another file of this model.</source>
        <translation>{path} enthält {name} in ungewöhnlicher Form. Wählen Sie eine andere Datei dieses Modells.</translation>
    </message>
    <message>
        <source>{path} is a GGUF file, which Bough must convert first. Open it in the Models window, or run `bough models import`.</source>
        <translation>{path} ist eine GGUF-Datei, die Bough zuerst umwandeln muss. Öffnen Sie sie im Fenster „Modelle“, oder starten Sie `bough models import`.</translation>
    </message>
    <message>
        <source>{path} is damaged: {name} holds numbers that are infinite or far too large. Download the file again, or choose another one.</source>
        <translation>{path} ist beschädigt: {name} enthält Zahlen, die unendlich oder viel zu groß sind. Laden Sie die Datei noch einmal herunter oder wählen Sie eine andere.</translation>
    </message>
    <message>
        <source>{path} is damaged: {reason}. Download the file again, or choose another one.</source>
        <translation>{path} ist beschädigt: {reason}. Laden Sie die Datei noch einmal herunter oder wählen Sie eine andere.</translation>
    </message>
    <message>
        <source>{path} is incomplete: {num_missing} bytes are missing at its end. Finish the download, then try again.</source>
        <translation>{path} ist unvollständig: Am Ende fehlen {num_missing} Byte. Schließen Sie den Download ab, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>{path} is not a GGUF file. Choose a model&apos;s file.</source>
        <translation>{path} ist keine GGUF-Datei. Wählen Sie die Datei eines Modells.</translation>
    </message>
    <message>
        <source>{path} is not an ordinary file, so Bough does not read it. Choose a GGUF file.</source>
        <translation>{path} ist keine gewöhnliche Datei, deshalb liest Bough sie nicht. Wählen Sie eine GGUF-Datei.</translation>
    </message>
    <message>
        <source>{path} lacks weights ({name}). Choose a language model&apos;s file.</source>
        <translation>In {path} fehlen Gewichte ({name}). Wählen Sie die Datei eines Sprachmodells.</translation>
    </message>
    <message>
        <source>{path} has a value for `{key}` that Bough can&apos;t use ({value}). Download the file again, or choose another one.</source>
        <translation>{path} enthält für `{key}` einen Wert, den Bough nicht verwenden kann ({value}). Laden Sie die Datei noch einmal herunter oder wählen Sie eine andere.</translation>
    </message>
    <message>
        <source>{path} splits text into words in a way that Bough does not support yet ({name}). Choose a model in MLX format, or another model.</source>
        <translation>{path} teilt Text auf eine Weise in Wörter, die Bough noch nicht unterstützt ({name}). Wählen Sie ein Modell im MLX-Format oder ein anderes Modell.</translation>
    </message>
    <message>
        <source>{path} stores the tensor {name} in a format that Bough can&apos;t read (number {number}). Choose another quantization of this model.</source>
        <translation>{path} speichert den Tensor {name} in einem Format, das Bough nicht lesen kann (Nummer {number}). Wählen Sie eine andere Quantisierung dieses Modells.</translation>
    </message>
    <message>
        <source>{path} uses a position encoding that Bough does not support yet ({kind}). Choose a model in MLX format, or another model.</source>
        <translation>{path} verwendet eine Positionskodierung, die Bough noch nicht unterstützt ({kind}). Wählen Sie ein Modell im MLX-Format oder ein anderes Modell.</translation>
    </message>
    <message>
        <source>{path} was written for big-endian machines. Choose the usual, little-endian file of this model.</source>
        <translation>{path} wurde für Big-Endian-Rechner geschrieben. Wählen Sie die übliche Little-Endian-Datei dieses Modells.</translation>
    </message>
    <message>
        <source>{repo} contains no model that Bough can use: it needs config.json, a tokenizer and model*.safetensors, or GGUF files. Choose another one.</source>
        <translation>{repo} enthält kein Modell, das Bough verwenden kann: Nötig sind config.json, ein Tokenizer und model*.safetensors, oder GGUF-Dateien. Wählen Sie ein anderes.</translation>
    </message>
    <message>
        <source>{repo} has no {file}.</source>
        <translation>{repo} enthält {file} nicht.</translation>
    </message>
    <message>
        <source>{title} belongs to another program ({path}), so Bough does not delete it. Delete it there.</source>
        <translation>{title} gehört zu einem anderen Programm ({path}), deshalb löscht Bough es nicht. Löschen Sie es dort.</translation>
    </message>
    <message>
        <source>{title} is being downloaded now, so nothing was deleted. Cancel the download first, then try again.</source>
        <translation>{title} wird gerade heruntergeladen, deshalb wurde nichts gelöscht. Brechen Sie erst den Download ab, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>{title} needs {needed_bytes} on the disk of {folder}, where {free_bytes} are free. The part that has arrived is kept. Free some space, then resume.</source>
        <translation>{title} braucht {needed_bytes} auf dem Datenträger von {folder}, aber nur {free_bytes} sind frei. Das schon Geladene bleibt erhalten. Schaffen Sie Platz, und setzen Sie den Download dann fort.</translation>
    </message>
    <message>
        <source>{token} ({probability} likely)</source>
        <translation>{token} (zu {probability} wahrscheinlich)</translation>
    </message>
    <message>
        <source>{what_happened} The text so far is kept.</source>
        <translation>{what_happened} Der bisherige Text bleibt erhalten.</translation>
    </message>
    <message>
        <source>{what} can&apos;t read this text ({error}). Nothing was lost. Change the text, or choose another model.</source>
        <translation>{what} kann diesen Text nicht lesen ({error}). Es ging nichts verloren. Ändern Sie den Text, oder wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>{why} Last report: {activity}.</source>
        <translation>{why} Letzte Meldung: {activity}.</translation>
    </message>
    <message>
        <source>{why} New text stays on the screen and is saved as soon as possible.</source>
        <translation>{why} Neuer Text bleibt auf dem Bildschirm und wird so bald wie möglich gespeichert.</translation>
    </message>
    <message>
        <source>{why} Nothing was sent to the model, and your text is kept.</source>
        <translation>{why} An das Modell wurde nichts gesendet, und Ihr Text bleibt erhalten.</translation>
    </message>
    <message>
        <source>{why} You can still read your conversations.</source>
        <translation>{why} Ihre Gespräche können Sie weiterhin lesen.</translation>
    </message>
    <message>
        <source>“{model}” wrote this answer. Open that model, then run the answer again.</source>
        <translation>Diese Antwort hat „{model}“ geschrieben. Öffnen Sie dieses Modell, und führen Sie die Antwort dann erneut aus.</translation>
    </message>
    <message>
        <source>“{name}” is a folder. Attach files from it instead.</source>
        <translation>„{name}“ ist ein Ordner. Hängen Sie stattdessen Dateien daraus an.</translation>
    </message>
    <message>
        <source>“{name}” is not a text file. Save it as text, then attach the text.</source>
        <translation>„{name}“ ist keine Textdatei. Speichern Sie die Datei als Text, und hängen Sie diesen an.</translation>
    </message>
    <message>
        <source>“{repo}” does not name a repository. Enter it as owner/name.</source>
        <translation>„{repo}“ ist kein Name eines Repositorys. Geben Sie ihn als Eigentümer/Name ein.</translation>
    </message>
    <message>
        <source>A JSON schema must be an object in braces.</source>
        <translation>Ein JSON-Schema muss ein Objekt in geschweiften Klammern sein.</translation>
    </message>
</context>
<context>
    <name>ServingLine</name>
    <message>
        <source>{num} programs</source>
        <translation>{num} Programmen</translation>
    </message>
    <message>
        <source>Serving {}</source>
        <translation>Antwortet {}</translation>
    </message>
    <message>
        <source>Serving</source>
        <translation>Antwortet</translation>
    </message>
</context>
<context>
    <name>ServingPopover</name>
    <message>
        <source>Requests of other programs</source>
        <translation>Anfragen anderer Programme</translation>
    </message>
    <message>
        <source>Stop all</source>
        <translation>Alle stoppen</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Stoppen</translation>
    </message>
    <message>
        <source>Stop the answer for {}</source>
        <translation>Die Antwort für {} stoppen</translation>
    </message>
    <message>
        <source>Tokens written: {}</source>
        <translation>Token geschrieben: {}</translation>
    </message>
    <message>
        <source>Reading {done} of {total} tokens · {kept} kept</source>
        <translation>Liest {done} von {total} Token · {kept} im Cache</translation>
    </message>
    <message>
        <source>Waiting</source>
        <translation>Wartet</translation>
    </message>
</context>
<context>
    <name>SettingsFiles</name>
    <message>
        <source>Export settings</source>
        <translation>Einstellungen exportieren</translation>
    </message>
    <message>
        <source>Settings (*.json)</source>
        <translation>Einstellungen (*.json)</translation>
    </message>
    <message>
        <source>Import settings</source>
        <translation>Einstellungen importieren</translation>
    </message>
</context>
<context>
    <name>SettingsWindow</name>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>Pages</source>
        <translation>Seiten</translation>
    </message>
    <message>
        <source>General</source>
        <translation>Allgemein</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>Antworten</translation>
    </message>
    <message>
        <source>Memory and disk</source>
        <translation>Speicher und Cache</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>Tasten</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>Local API</source>
        <translation>Lokale API</translation>
    </message>
    <message>
        <source>Data</source>
        <translation>Daten</translation>
    </message>
</context>
<context>
    <name>Sheet</name>
    <message>
        <source>Progress</source>
        <translation>Fortschritt</translation>
    </message>
    <message>
        <source>Enter</source>
        <translation>Eingabe</translation>
    </message>
    <message>
        <source>Cancelling…</source>
        <translation>Wird abgebrochen…</translation>
    </message>
</context>
<context>
    <name>ShortcutsWindow</name>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>Tastenkürzel</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>Enter</source>
        <translation>Eingabe</translation>
    </message>
    <message>
        <source>New line</source>
        <translation>Neue Zeile</translation>
    </message>
    <message>
        <source>Shift+Enter</source>
        <translation>Umschalt+Eingabe</translation>
    </message>
    <message>
        <source>Writing</source>
        <translation>Schreiben</translation>
    </message>
    <message>
        <source>Single-letter keys act on the focused message.</source>
        <translation>Tasten mit einem einzelnen Buchstaben gelten für die Nachricht mit dem Fokus.</translation>
    </message>
    <message>
        <source>Change keys…</source>
        <translation>Tasten ändern…</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
</context>
<context>
    <name>SideBySide</name>
    <message>
        <source>Close, keep all</source>
        <translation>Schließen, alle behalten</translation>
    </message>
    <message>
        <source>Close, keep all (Esc)</source>
        <translation>Schließen, alle behalten (Esc)</translation>
    </message>
    <message>
        <source>Answers to “{}”</source>
        <translation>Antworten auf „{}“</translation>
    </message>
    <message>
        <source>{} of {} versions</source>
        <translation>{} von {} Versionen</translation>
    </message>
    <message>
        <source>Version {} of {}</source>
        <translation>Version {} von {}</translation>
    </message>
    <message numerus="yes">
        <source>Prunes %n message(s); Undo restores them</source>
        <translation>
            <numerusform>Entfernt %n Nachricht; „Rückgängig“ stellt sie wieder her</numerusform>
            <numerusform>Entfernt %n Nachrichten; „Rückgängig“ stellt sie wieder her</numerusform>
        </translation>
    </message>
    <message>
        <source>Keep only this version of {}</source>
        <translation>Von {} nur diese behalten</translation>
    </message>
    <message>
        <source>Versions that are not shown here are kept.</source>
        <translation>Versionen, die hier nicht gezeigt werden, bleiben erhalten.</translation>
    </message>
</context>
<context>
    <name>Sidebar</name>
    <message>
        <source>Search</source>
        <translation>Suchen</translation>
    </message>
    <message>
        <source>New conversation</source>
        <translation>Neues Gespräch</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>Your conversations will appear here.</source>
        <translation>Hier erscheinen Ihre Gespräche.</translation>
    </message>
</context>
<context>
    <name>SizeChoice</name>
    <message>
        <source>{}, maximum</source>
        <translation>{}, höchstens</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>Automatisch</translation>
    </message>
    <message>
        <source>At most</source>
        <translation>Höchstens</translation>
    </message>
</context>
<context>
    <name>Steps</name>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>Replace</source>
        <translation>Ersetzen</translation>
    </message>
    <message>
        <source>Regenerate</source>
        <translation>Neu erzeugen</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Fork at token</source>
        <translation>Am Token abzweigen</translation>
    </message>
    <message>
        <source>Star</source>
        <translation>Mit Stern markieren</translation>
    </message>
    <message>
        <source>Unstar</source>
        <translation>Stern entfernen</translation>
    </message>
    <message>
        <source>Pin branch</source>
        <translation>Zweig anheften</translation>
    </message>
    <message>
        <source>Unpin branch</source>
        <translation>Zweig nicht mehr anheften</translation>
    </message>
    <message>
        <source>Name branch</source>
        <translation>Zweig benennen</translation>
    </message>
    <message>
        <source>Prune</source>
        <translation>Entfernen</translation>
    </message>
</context>
<context>
    <name>SystemPromptPopover</name>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>A new system prompt starts a new branch, in which your first question is asked again.</source>
        <translation>Ein neuer Systemprompt beginnt einen neuen Zweig, in dem Ihre erste Frage noch einmal gestellt wird.</translation>
    </message>
    <message>
        <source>A role or rules that the model reads before your first message.</source>
        <translation>Eine Rolle oder Regeln, die das Modell vor Ihrer ersten Nachricht liest.</translation>
    </message>
    <message>
        <source>You answer briefly, and say when you are not sure.</source>
        <translation>Du antwortest kurz und sagst, wenn du unsicher bist.</translation>
    </message>
    <message>
        <source>Save as new branch</source>
        <translation>Als neuen Zweig speichern</translation>
    </message>
    <message>
        <source>The current branch is kept (Ctrl+Enter)</source>
        <translation>Der jetzige Zweig bleibt erhalten (Strg+Eingabe)</translation>
    </message>
</context>
<context>
    <name>TableFrame</name>
    <message>
        <source>Scroll table horizontally</source>
        <translation>Tabelle horizontal scrollen</translation>
    </message>
</context>
<context>
    <name>TemplateFold</name>
    <message>
        <source>Chat template</source>
        <translation>Chatvorlage</translation>
    </message>
    <message>
        <source>This model has none, so messages reach it as plain text.</source>
        <translation>Dieses Modell hat keine und erhält Nachrichten deshalb als reinen Text.</translation>
    </message>
    <message>
        <source>Use a plain template</source>
        <translation>Einfache Vorlage verwenden</translation>
    </message>
    <message>
        <source>Use none</source>
        <translation>Keine verwenden</translation>
    </message>
</context>
<context>
    <name>TextChips</name>
    <message>
        <source>Type here, then press Enter</source>
        <translation>Text, dann Eingabe</translation>
    </message>
    <message>
        <source>Type, then press Enter; \n is a line break</source>
        <translation>Tippen, dann Eingabetaste drücken; \n ist ein Zeilenumbruch</translation>
    </message>
    <message>
        <source>Add</source>
        <translation>Hinzufügen</translation>
    </message>
    <message>
        <source>Add (Enter)</source>
        <translation>Hinzufügen (Eingabe)</translation>
    </message>
</context>
<context>
    <name>ThoughtView</name>
    <message>
        <source>Show or hide the reasoning (T)</source>
        <translation>Nachdenken ein- oder ausblenden (T)</translation>
    </message>
    <message>
        <source>Thinking…</source>
        <translation>Denkt nach…</translation>
    </message>
    <message>
        <source>Reasoning</source>
        <translation>Nachdenken</translation>
    </message>
    <message>
        <source>Thought for {minutes} min {seconds} s</source>
        <translation>{minutes} min {seconds} s nachgedacht</translation>
    </message>
    <message>
        <source>Thought for {seconds} s</source>
        <translation>{seconds} s nachgedacht</translation>
    </message>
</context>
<context>
    <name>Times</name>
    <message>
        <source>at an unknown time</source>
        <translation>zu unbekannter Zeit</translation>
    </message>
    <message>
        <source>today, {time}</source>
        <translation>heute, {time}</translation>
    </message>
    <message>
        <source>yesterday, {time}</source>
        <translation>gestern, {time}</translation>
    </message>
</context>
<context>
    <name>TokenForm</name>
    <message>
        <source>Token</source>
        <translation>Token</translation>
    </message>
    <message>
        <source>Token for Hugging Face</source>
        <translation>Token für Hugging Face</translation>
    </message>
    <message>
        <source>Use token</source>
        <translation>Token verwenden</translation>
    </message>
    <message>
        <source>The token is stored in your system&apos;s keyring, never in Bough&apos;s own files.</source>
        <translation>Das Token wird im Schlüsselbund des Systems gespeichert, nie in Dateien von Bough.</translation>
    </message>
</context>
<context>
    <name>TokenLegend</name>
    <message>
        <source>expected – surprising</source>
        <translation>erwartet – überraschend</translation>
    </message>
    <message>
        <source>forced</source>
        <translation>erzwungen</translation>
    </message>
    <message>
        <source>healed</source>
        <translation>geheilt</translation>
    </message>
    <message>
        <source>drafted</source>
        <translation>vorhergesagt</translation>
    </message>
    <message>
        <source>chosen by you</source>
        <translation>von Ihnen gewählt</translation>
    </message>
</context>
<context>
    <name>TokenPopover</name>
    <message>
        <source>Forced: no other token was possible, or a hook set it.</source>
        <translation>Erzwungen: Kein anderes Token war möglich, oder ein Hook hat es gesetzt.</translation>
    </message>
    <message>
        <source>Healed: it starts with the end of the text before it.</source>
        <translation>Geheilt: Es beginnt mit dem Ende des Texts davor.</translation>
    </message>
    <message>
        <source>Drafted: it was predicted, and the model confirmed it.</source>
        <translation>Vorhergesagt: Es wurde vorhergesagt, und das Modell hat es bestätigt.</translation>
    </message>
    <message>
        <source>Part of the text that the model continued.</source>
        <translation>Teil des Texts, den das Modell fortgesetzt hat.</translation>
    </message>
    <message>
        <source>No alternatives are known. They are recorded only for answers that are written while tokens are shown.</source>
        <translation>Es sind keine Alternativen bekannt. Sie werden nur für Antworten aufgezeichnet, die entstehen, während die Token angezeigt werden.</translation>
    </message>
    <message>
        <source>Chosen by you.</source>
        <translation>Von Ihnen gewählt.</translation>
    </message>
    <message>
        <source>The answer ended inside a token, so its end was tokenized again.</source>
        <translation>Die Antwort endete in einem Token, deshalb wurde ihr Ende neu in Token zerlegt.</translation>
    </message>
    <message>
        <source>↑ ↓ and Enter, or a click, continue with another token.</source>
        <translation>Mit ↑ ↓ und Eingabe oder einem Klick mit einem anderen Token fortfahren.</translation>
    </message>
</context>
<context>
    <name>Transcript</name>
    <message>
        <source>Conversation</source>
        <translation>Gespräch</translation>
    </message>
</context>
<context>
    <name>TransferAnnouncements</name>
    <message>
        <source>{model} can be used now</source>
        <translation>{model} kann jetzt verwendet werden</translation>
    </message>
    <message>
        <source>{model} is waiting</source>
        <translation>{model} wartet</translation>
    </message>
    <message>
        <source>{model} is paused</source>
        <translation>{model} ist pausiert</translation>
    </message>
    <message>
        <source>The conversion of {model} failed. {why}</source>
        <translation>Die Umwandlung von {model} ist fehlgeschlagen. {why}</translation>
    </message>
    <message>
        <source>The download of {model} failed. {why}</source>
        <translation>Der Download von {model} ist fehlgeschlagen. {why}</translation>
    </message>
    <message>
        <source>{model} is being converted: {percent} %</source>
        <translation>{model} wird umgewandelt: {percent} %</translation>
    </message>
    <message>
        <source>{model} is being downloaded: {percent} %</source>
        <translation>{model} wird heruntergeladen: {percent} %</translation>
    </message>
</context>
<context>
    <name>TrashWindow</name>
    <message>
        <source>Trash</source>
        <translation>Papierkorb</translation>
    </message>
    <message>
        <source>Trash contents</source>
        <translation>Inhalt des Papierkorbs</translation>
    </message>
    <message>
        <source>The trash is empty.

Deleted conversations and pruned branches stay here for 30 days. Until then you can restore them.</source>
        <translation>Der Papierkorb ist leer.

Gelöschte Gespräche und entfernte Zweige bleiben 30 Tage hier. So lange können Sie sie wiederherstellen.</translation>
    </message>
    <message>
        <source>Everything here is permanently deleted after 30 days. Search and export leave it out.</source>
        <translation>Alles hier wird nach 30 Tagen endgültig gelöscht. Suche und Export lassen es weg.</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>Wiederherstellen</translation>
    </message>
    <message>
        <source>Delete permanently…</source>
        <translation>Endgültig löschen…</translation>
    </message>
    <message>
        <source>Del</source>
        <translation>Entf</translation>
    </message>
    <message>
        <source>Empty trash…</source>
        <translation>Papierkorb leeren…</translation>
    </message>
    <message numerus="yes">
        <source>%n message(s)</source>
        <translation>
            <numerusform>%n Nachricht</numerusform>
            <numerusform>%n Nachrichten</numerusform>
        </translation>
    </message>
    <message>
        <source>Deleted {time} · {goes}</source>
        <translation>Gelöscht {time} · {goes}</translation>
    </message>
    <message>
        <source>An empty message</source>
        <translation>Eine leere Nachricht</translation>
    </message>
    <message>
        <source>Pruned {time} in “{name}” · {goes}</source>
        <translation>Entfernt {time} in „{name}“ · {goes}</translation>
    </message>
    <message>
        <source>Permanently delete “{name}”?</source>
        <translation>„{name}“ endgültig löschen?</translation>
    </message>
    <message numerus="yes">
        <source>Permanently delete these %n items?</source>
        <translation>
            <numerusform>Diesen %n Eintrag endgültig löschen?</numerusform>
            <numerusform>Diese %n Einträge endgültig löschen?</numerusform>
        </translation>
    </message>
    <message>
        <source>Permanently delete everything in the trash?</source>
        <translation>Alles im Papierkorb endgültig löschen?</translation>
    </message>
    <message>
        <source>Delete permanently</source>
        <translation>Endgültig löschen</translation>
    </message>
    <message>
        <source>{goes}. This removes the text from your conversations, their backups and the cache. Messages that are also part of other conversations are kept.</source>
        <translation>{goes}. Der Text wird aus Ihren Gesprächen, deren Sicherungen und dem Cache entfernt. Nachrichten, die auch zu anderen Gesprächen gehören, bleiben erhalten.</translation>
    </message>
</context>
<context>
    <name>Tree</name>
    <message>
        <source>You</source>
        <translation>Sie</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Antwort</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>Note</source>
        <translation>Notiz</translation>
    </message>
    <message>
        <source>File</source>
        <translation>Datei</translation>
    </message>
    <message>
        <source>Beginning</source>
        <translation>Anfang</translation>
    </message>
    <message>
        <source>No system prompt</source>
        <translation>Kein Systemprompt</translation>
    </message>
    <message>
        <source>Being written</source>
        <translation>Wird geschrieben</translation>
    </message>
    <message>
        <source>No text</source>
        <translation>Kein Text</translation>
    </message>
    <message>
        <source>version {number} of {count}</source>
        <translation>Version {number} von {count}</translation>
    </message>
    <message>
        <source>starred</source>
        <translation>mit Stern</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>angeheftet</translation>
    </message>
    <message>
        <source>Nothing to read</source>
        <translation>Nichts zu lesen</translation>
    </message>
    <message>
        <source>1 more version</source>
        <translation>1 weitere Version</translation>
    </message>
    <message>
        <source>{count} more versions</source>
        <translation>{count} weitere Versionen</translation>
    </message>
    <message>
        <source>here</source>
        <translation>hier</translation>
    </message>
</context>
<context>
    <name>TreeCard</name>
    <message>
        <source>Press Enter or click to show them.</source>
        <translation>Zum Anzeigen klicken oder die Eingabetaste drücken.</translation>
    </message>
</context>
<context>
    <name>TreeDock</name>
    <message>
        <source>Fit tree to view</source>
        <translation>Baum einpassen</translation>
    </message>
    <message>
        <source>Fit tree to view (0)</source>
        <translation>Baum einpassen (0)</translation>
    </message>
    <message>
        <source>Close the tree</source>
        <translation>Baum schließen</translation>
    </message>
    <message>
        <source>Close the tree (Ctrl+T)</source>
        <translation>Baum schließen (Strg+T)</translation>
    </message>
    <message>
        <source>Tree</source>
        <translation>Baum</translation>
    </message>
    <message numerus="yes">
        <source>{count} branches</source>
        <translation>
            <numerusform>{count} Zweig</numerusform>
            <numerusform>{count} Zweige</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>TreeOverview</name>
    <message>
        <source>Overview of the tree</source>
        <translation>Übersicht des Baums</translation>
    </message>
    <message>
        <source>Drag to see another part of the tree</source>
        <translation>Ziehen, um einen anderen Teil des Baums zu sehen</translation>
    </message>
</context>
<context>
    <name>TreeSample</name>
    <message>
        <source>Every message is a dot</source>
        <translation>Jede Nachricht ist ein Punkt</translation>
    </message>
    <message>
        <source>Edit a question or regenerate an answer to start a new branch. Nothing is lost. Double-click a dot to go there.</source>
        <translation>Bearbeiten Sie eine Frage, oder erzeugen Sie eine Antwort neu, um einen neuen Zweig zu beginnen. Es geht nichts verloren. Ein Doppelklick auf einen Punkt führt dorthin.</translation>
    </message>
</context>
<context>
    <name>TreeView</name>
    <message>
        <source>Tree of the conversation</source>
        <translation>Baum des Gesprächs</translation>
    </message>
</context>
<context>
    <name>UndoCommands</name>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Redo</source>
        <translation>Wiederholen</translation>
    </message>
</context>
<context>
    <name>Updating</name>
    <message>
        <source>Bough makes a backup of your conversations and updates them to this version. This happens once. The window opens by itself afterwards.</source>
        <translation>Bough legt eine Sicherung Ihrer Unterhaltungen an und bringt sie auf den Stand dieser Version. Das geschieht einmal. Danach öffnet sich das Fenster von selbst.</translation>
    </message>
</context>
<context>
    <name>VersionSwitch</name>
    <message>
        <source>Version {} of {}</source>
        <translation>Version {} von {}</translation>
    </message>
    <message>
        <source>Previous version (Alt+Left)</source>
        <translation>Vorige Version (Alt+Links)</translation>
    </message>
    <message>
        <source>Next version (Alt+Right)</source>
        <translation>Nächste Version (Alt+Rechts)</translation>
    </message>
</context>
<context>
    <name>WaitingAnswers</name>
    <message>
        <source>loading {model}: {stage}</source>
        <translation>{model} wird geladen: {stage}</translation>
    </message>
    <message>
        <source>waiting for {other} to answer, then loading {model}</source>
        <translation>wartet, bis {other} geantwortet hat, und lädt dann {model}</translation>
    </message>
    <message>
        <source>waiting for {other} to answer</source>
        <translation>wartet, bis {other} geantwortet hat</translation>
    </message>
    <message>
        <source>waiting for the answer above</source>
        <translation>wartet auf die Antwort darüber</translation>
    </message>
    <message>
        <source>waiting until your message is on the disk</source>
        <translation>wartet, bis Ihre Nachricht auf dem Datenträger ist</translation>
    </message>
    <message>
        <source>waiting for {host}, {seconds} s</source>
        <translation>wartet auf {host}, {seconds} s</translation>
    </message>
    <message>
        <source>preparing the prompt</source>
        <translation>bereitet den Prompt vor</translation>
    </message>
    <message>
        <source>waiting for the answer in “{name}”, then loading {model}</source>
        <translation>wartet auf die Antwort in „{name}“ und lädt dann {model}</translation>
    </message>
    <message>
        <source>waiting for the answer in “{name}”</source>
        <translation>wartet auf die Antwort in „{name}“</translation>
    </message>
</context>
<context>
    <name>Welcome</name>
    <message>
        <source>A conversation is a tree</source>
        <translation>Ein Gespräch ist ein Baum</translation>
    </message>
    <message>
        <source>Ask the guide about Bough</source>
        <translation>Den Guide nach Bough fragen</translation>
    </message>
    <message>
        <source>The guide answers questions about Bough:</source>
        <translation>Der Guide beantwortet Fragen zu Bough (auf Englisch):</translation>
    </message>
    <message>
        <source>A question for the guide</source>
        <translation>Eine Frage an den Guide</translation>
    </message>
    <message>
        <source>{model} (small, real)</source>
        <translation>{model} (klein, echt)</translation>
    </message>
    <message>
        <source>Chat with {model}</source>
        <translation>Mit {model} chatten</translation>
    </message>
    <message>
        <source>The guide is a tiny model that knows only Bough. It speaks English.</source>
        <translation>Der Guide ist ein winziges Modell, das nur Bough kennt. Er spricht Englisch.</translation>
    </message>
    <message>
        <source>{model} has {num} million parameters. It is small: it writes fluently, but knows little.</source>
        <translation>{model} hat {num} Millionen Parameter. Es ist klein: Es schreibt flüssig, weiß aber wenig.</translation>
    </message>
    <message>
        <source>Ask a question, then edit, regenerate or fork any message. Every version is kept.</source>
        <translation>Stellen Sie eine Frage. Danach können Sie jede Nachricht bearbeiten, neu erzeugen oder von ihr abzweigen. Jede Version bleibt erhalten.</translation>
    </message>
</context>
<context>
    <name>WritingField</name>
    <message>
        <source>Nothing was pasted; paste a part of it instead.</source>
        <translation>Es wurde nichts eingefügt; fügen Sie stattdessen einen Teil ein.</translation>
    </message>
    <message>
        <source>The text is too long: {chars} characters, with up to {run} in a row without a space. A message can have {most} characters, and {longest} in a row without a space.</source>
        <translation>Der Text ist zu lang: {chars} Zeichen, davon bis zu {run} ohne Leerzeichen. Eine Nachricht darf {most} Zeichen haben und {longest} ohne Leerzeichen.</translation>
    </message>
    <message>
        <source>The text is too long: a line has {chars} characters, but can have only {most}.</source>
        <translation>Der Text ist zu lang: Eine Zeile hat {chars} Zeichen, darf aber höchstens {most} haben.</translation>
    </message>
</context>
<context>
    <name>_Card</name>
    <message>
        <source>Go on with this</source>
        <translation>Hiermit fortfahren</translation>
    </message>
    <message>
        <source>Go on with {}</source>
        <translation>Mit {} fortfahren</translation>
    </message>
    <message>
        <source>Keep only this</source>
        <translation>Nur diese behalten</translation>
    </message>
    <message>
        <source>Keep only {}</source>
        <translation>Nur {} behalten</translation>
    </message>
</context>
<context>
    <name>_Choices</name>
    <message>
        <source>checked</source>
        <translation>angehakt</translation>
    </message>
</context>
<context>
    <name>_Legend</name>
    <message>
        <source>kept in memory: continues at once</source>
        <translation>im Arbeitsspeicher: sofort weiter</translation>
    </message>
    <message>
        <source>kept on disk: loaded first</source>
        <translation>auf dem Datenträger: wird geladen</translation>
    </message>
    <message>
        <source>not kept: read again first</source>
        <translation>nicht im Cache: neu gelesen</translation>
    </message>
    <message>
        <source>Full dot: kept in memory. Half dot: kept on disk. Hollow dot: not kept, to be read again.</source>
        <translation>Voller Punkt: im Arbeitsspeicher. Halber Punkt: auf dem Datenträger. Leerer Punkt: nicht im Cache, wird neu gelesen.</translation>
    </message>
</context>
<context>
    <name>_Picture</name>
    <message>
        <source>A question</source>
        <translation>Eine Frage</translation>
    </message>
    <message>
        <source>Its answer</source>
        <translation>Ihre Antwort</translation>
    </message>
    <message>
        <source>Another answer</source>
        <translation>Eine andere Antwort</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>The next question</source>
        <translation>Die nächste Frage</translation>
    </message>
    <message>
        <source>A tree of two questions, one of them with two answers</source>
        <translation>Ein Baum aus zwei Fragen, eine davon mit zwei Antworten</translation>
    </message>
</context>
</TS>
