"""Facts into sentences: a Transformer over graphs that plans the order of facts and copies names.

Command, English texts for DBpedia triples:
    keras-attn train webnlg_graph --data webnlg --out runs/webnlg
"""

from keras_attn_pipelines.experiment import Adam, Experiment, Fit, TransformerSizes
from keras_attn_pipelines.tasks.data_to_text import DataToText, GraphTransformer, SetsOfFacts

RECIPE = Experiment(
    source=SetsOfFacts(),
    task=DataToText(),
    model=GraphTransformer(
        sizes=TransformerSizes(num_layers=3, hidden_dim=192, num_heads=4, intermediate_dim=512)
    ),
    optimizer=Adam(learning_rate=2.5e-3, warmup_steps=1600, beta_2=0.98, epsilon=1e-9, average=5),
    fit=Fit(epochs=30, batch_tokens=2048, monitor="val_bleu", patience=8),
)
